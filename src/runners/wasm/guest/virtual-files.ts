import type { FileNode, MemoryFileSystem } from "./memory-file-system.ts";

/** Not yet in the type library of this build. */
interface ResizableBuffer {
  readonly resizable: boolean;
  readonly maxByteLength: number;
  resize(bytes: number): void;
}
type ResizableConstructor = new (bytes: number, options: { maxByteLength: number }) => ResizableBuffer;

/**
 * Limits the size of files in memory and the number of open files, so that a full disk is an OSError instead of a killed
 * interpreter. Runs INSIDE the empty context, so it uses only its parameters. It is not a security barrier: code that
 * reaches the JavaScript objects can undo it, but not the memory limits.
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
  // Growth is subtracted at once. All files are counted again, to notice deletions, only when no room seems to be left.
  const grow = (bytes: number) => {
    if (bytes <= 0) return;
    if (bytes > room) room = limitBytes + baseline - used();
    if (bytes > room) throw new system.ErrnoError(noSpace);
    room -= bytes;
  };
  // Large files grow in place. Copying them into larger arrays would use several times the quota until the old arrays are
  // collected, and could kill a program that is within its limits.
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
      // not enough address space: the write below copies instead
    }
    return write(target, buffer, offset, length, position, canOwn);
  };
  const setattr = node.setattr;
  node.setattr = (target, attributes) => {
    if (attributes.size !== undefined) grow(attributes.size - (target.usedBytes ?? 0));
    setattr(target, attributes);
  };
}
