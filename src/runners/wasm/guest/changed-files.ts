import type { FileNode, MemoryFileSystem } from "./memory-file-system.ts";

export interface ChangedFiles {
  /** JSON of `[rows, isComplete]`, or "" when nothing changed; starts anew. */
  take(): string;
  /** Leaves a change out of what `take` tells: it is the host's own. */
  forget(node: FileNode): void;
  /** A number that no other content of any file had. */
  version(node: FileNode): number;
}

/**
 * Notes which files below /workspace are written, made or moved, as it happens: the cost follows the changes. Runs INSIDE
 * the empty context, so it names nothing but its parameters. What it tells is a hint like all that comes from there.
 */
export function trackChanges(fs: unknown): ChangedFiles {
  const system = fs as MemoryFileSystem;
  const { file, dir } = system.filesystems.MEMFS.ops_table;
  const maxNodes = 20_000;
  const maxRows = 1000;
  const maxPathCharacters = 4096;
  // One message has to hold them all; its limit is 256 KiB.
  const maxTextCharacters = 150_000;
  const own = Object.hasOwn;
  const text = JSON.stringify;
  const touched = new Set<FileNode>();
  const versions = new WeakMap<FileNode, number>();
  // Interpreters follow each other in a cell: a version of the last one must not name a file of this one.
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
    // A file without a name is kept alive by its descriptor alone, and must not be by us.
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
    // The file system sets the parent after this call, so whether it is linked cannot be asked yet.
    if (touched.size < maxNodes) touched.add(node);
    else isComplete = false;
  };
  dir.node.unlink = (parent, name) => {
    forgetEntry(parent, name);
    unlink(parent, name);
  };

  /** Path below /workspace, or undefined for what is elsewhere or has no name any more. */
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
        if (path !== undefined && path !== "") found.set(path, node);
        // A directory that was moved here brought its files along.
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
      const told = text([rows, isComplete]);
      const isEmpty = rows.length === 0 && isComplete;
      isComplete = true;
      return isEmpty ? "" : told;
    },
    forget(node) {
      touched.delete(node);
    },
    version: (node) => versions.get(node) ?? 0,
  };
}
