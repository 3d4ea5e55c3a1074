/** The part of Emscripten's in-memory file system that is used here. The objects belong to the inner realm. */
export interface FileNode {
  readonly id: number;
  readonly mode: number;
  readonly name: string;
  readonly parent: FileNode;
  readonly mtime: number;
  usedBytes?: number;
  /** bytes of a file, or entries of a directory */
  contents?: unknown;
  name_next?: FileNode;
}

export interface FileOperations {
  write(
    stream: { node: FileNode },
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
    canOwn?: boolean,
  ): number;
  msync(stream: { node: FileNode }, buffer: Uint8Array, offset: number, length: number, flags: number): number;
}

export interface MemoryFileSystem {
  readonly root: FileNode;
  nameTable: (FileNode | null | undefined)[];
  readonly filesystems: {
    readonly MEMFS: {
      readonly ops_table: {
        readonly file: {
          readonly stream: FileOperations;
          readonly node: { setattr(node: FileNode, attributes: { size?: number }): void };
        };
        readonly dir: {
          readonly node: {
            mknod(parent: FileNode, name: string, mode: number, device: number): FileNode;
            rename(node: FileNode, directory: FileNode, name: string): void;
            unlink(parent: FileNode, name: string): void;
          };
        };
      };
    };
  };
  MAX_OPEN_FDS: number;
  readonly ErrnoError: new (errno: number) => Error;
  mkdir(path: string): FileNode;
  mkdirTree(path: string): void;
  mknod(path: string, mode: number, device: number): FileNode;
  rename(from: string, to: string): void;
  rmdir(path: string): void;
  unlink(path: string): void;
}
