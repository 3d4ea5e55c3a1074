import type { FileNode, MemoryFileSystem } from "./memory-file-system.ts";

/** Newer than the library that this is compiled against. */
interface ResizableBuffer {
  readonly resizable: boolean;
  readonly maxByteLength: number;
  resize(bytes: number): void;
}
type ResizableConstructor = new (bytes: number, options: { maxByteLength: number }) => ResizableBuffer;

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
  // A file that grows is copied into a larger array again and again, and the old ones are memory until they are
  // collected: several times the quota, in which a program within its limits would be ended. Large ones grow in place.
  const inPlaceBytes = 4 * 1024 * 1024;
  const mostBytes = Math.min(limitBytes, 2 ** 31);
  const Bytes = Uint8Array;
  const Storage = ArrayBuffer as unknown as ResizableConstructor;
  const expand = (target: FileNode, needed: number) => {
    const contents = target.contents as Uint8Array;
    if (needed <= inPlaceBytes || needed <= contents.length || needed > mostBytes || !target.usedBytes) return;
    const capacity = Math.min(mostBytes, Math.ceil(needed * 1.125));
    const storage = contents.buffer as unknown as ResizableBuffer;
    if (storage.resizable && needed <= storage.maxByteLength) {
      storage.resize(Math.min(capacity, storage.maxByteLength));
      return;
    }
    const larger = new Bytes(new Storage(capacity, { maxByteLength: mostBytes }) as unknown as ArrayBuffer);
    larger.set(contents.subarray(0, target.usedBytes ?? 0));
    target.contents = larger;
  };
  const write = stream.write;
  stream.write = (target, buffer, offset, length, position, canOwn) => {
    grow(position + length - (target.node.usedBytes ?? 0));
    try {
      if (!canOwn) expand(target.node, position + length);
    } catch {
      // no address space for it: then by copying
    }
    return write(target, buffer, offset, length, position, canOwn);
  };
  const setattr = node.setattr;
  node.setattr = (target, attributes) => {
    if (attributes.size !== undefined) grow(attributes.size - (target.usedBytes ?? 0));
    setattr(target, attributes);
  };
}
