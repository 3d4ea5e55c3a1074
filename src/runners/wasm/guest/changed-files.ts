import type { FileNode, MemoryFileSystem } from "./memory-file-system.ts";

export interface ChangedFiles {
  /** Returns JSON of `[rows, isComplete]`, or "" if nothing changed, and starts a new list. */
  take(): string;
  /** Removes a change of the host itself from the list. */
  forget(node: FileNode): void;
  /** A text that is unique to this content of this file. */
  version(node: FileNode): string;
}

/**
 * Records files in /workspace as they are written, created or moved, so its cost depends on the number of changes. Runs
 * INSIDE the empty context, so it uses only its parameters. User code can forge the result: it is a hint.
 */
export function trackChanges(fs: unknown): ChangedFiles {
  const system = fs as MemoryFileSystem;
  const { file, dir } = system.filesystems.MEMFS.ops_table;
  const maxNodes = 20_000;
  const maxRows = 1000;
  const maxPathCharacters = 4096;
  // All changes must fit into one message, whose limit is 256 KiB.
  const maxTextCharacters = 150_000;
  const own = Object.hasOwn;
  const text = JSON.stringify;
  const touched = new Set<FileNode>();
  const versions = new WeakMap<FileNode, number>();
  // A cell may replace its interpreter. The versions of the last one must not occur again.
  let latest = Math.floor(Math.random() * 2 ** 50);
  let isComplete = true;

  const isFile = (node: FileNode) => (node.mode & 0o170000) === 0o100000;
  const isDirectory = (node: FileNode) => (node.mode & 0o170000) === 0o040000;
  const entriesOf = (directory: FileNode) => directory.contents as Record<string, FileNode>;
  const entry = (directory: FileNode, name: string) =>
    own(entriesOf(directory), name) ? entriesOf(directory)[name] : undefined;
  const isLinked = (node: FileNode) => isDirectory(node.parent) && entry(node.parent, node.name) === node;

  const touch = (node: FileNode) => {
    versions.set(node, ++latest);
    // Do not keep a deleted file in memory that only its descriptor keeps alive.
    if (!isLinked(node)) return;
    if (touched.size < maxNodes) touched.add(node);
    else if (!touched.has(node)) isComplete = false;
  };
  const forgetEntry = (directory: FileNode, name: string) => {
    const node = entry(directory, name);
    if (node !== undefined) touched.delete(node);
  };

  const { write, msync } = file.stream;
  file.stream.write = (stream, buffer, offset, length, position, canOwn) => {
    const written = write(stream, buffer, offset, length, position, canOwn);
    touch(stream.node);
    return written;
  };
  file.stream.msync = (stream, buffer, offset, length, flags) => {
    const result = msync(stream, buffer, offset, length, flags);
    touch(stream.node);
    return result;
  };
  const setattr = file.node.setattr;
  file.node.setattr = (node, attributes) => {
    setattr(node, attributes);
    if (attributes.size !== undefined) touch(node);
  };
  const { mknod, rename, unlink } = dir.node;
  dir.node.mknod = (parent, name, mode, device) => {
    const node = mknod(parent, name, mode, device);
    if (isFile(node)) touch(node);
    return node;
  };
  dir.node.rename = (node, directory, name) => {
    forgetEntry(directory, name);
    rename(node, directory, name);
    // The file system sets the parent after this call, so `isLinked` does not work yet.
    if (touched.size < maxNodes) touched.add(node);
    else isComplete = false;
  };
  dir.node.unlink = (parent, name) => {
    forgetEntry(parent, name);
    unlink(parent, name);
  };

  /** Path relative to /workspace, or undefined if the file is elsewhere or deleted. */
  const pathOf = (node: FileNode): string | undefined => {
    const workspace = entry(system.root, "workspace");
    let path = "";
    for (let at = node; at !== workspace; at = at.parent) {
      if (at === at.parent || !isLinked(at) || path.length > maxPathCharacters) return undefined;
      path = path === "" ? at.name : `${at.name}/${path}`;
    }
    return path;
  };

  return {
    take() {
      if (touched.size === 0 && isComplete) return "";
      const waiting = [...touched];
      touched.clear();
      const found = new Map<string, FileNode>();
      let visited = 0;
      for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
        if (++visited > maxNodes) {
          isComplete = false;
          break;
        }
        const path = isFile(node) ? pathOf(node) : undefined;
        // What `%pip install` brought is not the program's own.
        if (path?.startsWith(".codecell-packages/")) continue;
        if (path !== undefined && path !== "") found.set(path, node);
        // A directory that was moved here contains files that are new here.
        if (isDirectory(node) && pathOf(node) !== undefined) waiting.push(...Object.values(entriesOf(node)));
      }
      const rows: object[] = [];
      let characters = 0;
      for (const path of [...found.keys()].sort()) {
        const node = found.get(path);
        const modifiedMs = Math.min(Math.max(0, Math.floor(Number(node?.mtime)) || 0), Number.MAX_SAFE_INTEGER);
        const row = { path, size: node?.usedBytes ?? 0, modifiedMs };
        characters += text(row).length;
        if (rows.length >= maxRows || characters > maxTextCharacters || path.length > maxPathCharacters) {
          isComplete = false;
          break;
        }
        rows.push(row);
      }
      const json = text([rows, isComplete]);
      const isEmpty = rows.length === 0 && isComplete;
      isComplete = true;
      return isEmpty ? "" : json;
    },
    forget(node) {
      touched.delete(node);
    },
    version: (node) => `${versions.get(node) ?? 0}`,
  };
}
