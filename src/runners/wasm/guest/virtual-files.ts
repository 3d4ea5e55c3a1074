import type { MemoryFileSystem } from "./memory-file-system.ts";

/**
 * Gives the files in memory a quota, so that a full disk is an OSError and not the end of the interpreter; and a limit
 * to how many are open. Runs INSIDE the empty context, so it names nothing but its parameters. It is a courtesy, not a
 * wall: code that reaches the JavaScript objects can undo it and then meets the memory limits.
 */
export function limitVirtualFiles(fs: unknown, limitBytes: number, openFiles: number): void {
  const system = fs as MemoryFileSystem;
  const noSpace = 51;
  system.MAX_OPEN_FDS = openFiles;
  const { stream, node } = system.filesystems.MEMFS.ops_table.file;
  const used = () => {
    let sum = 0;
    for (let i = 0; i < system.nameTable.length; i++) {
      for (let entry = system.nameTable[i]; entry; entry = entry.name_next) sum += entry.usedBytes ?? 0;
    }
    return sum;
  };
  const baseline = used();
  let room = limitBytes;
  // Growth is subtracted as it happens; the walk that also sees deletions is taken only when the room seems used up.
  const grow = (bytes: number) => {
    if (bytes <= 0) return;
    if (bytes > room) room = limitBytes + baseline - used();
    if (bytes > room) throw new system.ErrnoError(noSpace);
    room -= bytes;
  };
  const write = stream.write;
  stream.write = (target, buffer, offset, length, position, canOwn) => {
    grow(position + length - (target.node.usedBytes ?? 0));
    return write(target, buffer, offset, length, position, canOwn);
  };
  const setattr = node.setattr;
  node.setattr = (target, attributes) => {
    if (attributes.size !== undefined) grow(attributes.size - (target.usedBytes ?? 0));
    setattr(target, attributes);
  };
}
