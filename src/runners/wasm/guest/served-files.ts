import type { ChangedFiles } from "./changed-files.ts";
import type { FileNode, MemoryFileSystem } from "./memory-file-system.ts";

/** Answers one request of the host about files in memory. */
export type ServeFile = (header: string, body: Uint8Array | undefined) => void;
type Send = (header: string, body: Uint8Array | undefined) => void;

/**
 * Reads, writes and lists files in /workspace for the host. It does not use Python, so user code cannot break it by
 * accident. Runs INSIDE the empty context, so it uses only its parameters. Symlinks are not followed, and no user code runs
 * between a check and its use.
 */
export function serveFiles(fs: unknown, changes: ChangedFiles, send: Send): ServeFile {
  const system = fs as MemoryFileSystem;
  const noSpace = 51;
  const pieceBytes = 1024 * 1024;
  const maxEntries = 200_000;
  const maxDepth = 64;
  const maxPathCharacters = 1024;
  // Well below what the host accepts. The attack: ten thousand of the longest names.
  const maxPageCharacters = 4 * 1024 * 1024;
  const incoming = "/usr/lib/codecell/incoming";
  const { stream } = system.filesystems.MEMFS.ops_table.file;
  const own = Object.hasOwn;
  const { parse, stringify } = JSON;
  const encoder = new TextEncoder();
  const uploads = new Map<number, FileNode>();

  interface Refusal {
    readonly code: string;
    readonly message: string;
  }
  const refusal = (code: string, message: string): Refusal => ({ code, message });
  const missing = (path: string) => refusal("file_missing", `there is no file ${path}`);
  const isFile = (node: FileNode) => (node.mode & 0o170000) === 0o100000;
  const isDirectory = (node: FileNode) => (node.mode & 0o170000) === 0o040000;
  const entry = (directory: FileNode, name: string): FileNode | undefined => {
    const entries = directory.contents as Record<string, FileNode>;
    return own(entries, name) ? entries[name] : undefined;
  };
  const modifiedMs = (node: FileNode) =>
    Math.min(Math.max(0, Math.floor(Number(node.mtime)) || 0), Number.MAX_SAFE_INTEGER);

  const workspace = (): FileNode => {
    const node = entry(system.root, "workspace");
    if (node === undefined || !isDirectory(node)) throw missing("/workspace");
    return node;
  };
  /** Finds an entry without following symlinks. */
  const find = (path: string): FileNode => {
    let node = workspace();
    for (const part of path.split("/")) {
      if (!isDirectory(node)) throw refusal("file_refused", `${path}: a part of the path is not a directory`);
      const next = entry(node, part);
      if (next === undefined || part === "") throw missing(path);
      node = next;
    }
    return node;
  };
  const regular = (path: string): FileNode => {
    const node = find(path);
    if (isDirectory(node)) throw refusal("file_refused", `${path} is a directory`);
    if (!isFile(node)) throw refusal("file_refused", `${path} is not a regular file`);
    return node;
  };
  const whole = (value: unknown): number => (typeof value === "number" && value >= 0 ? Math.floor(value) : 0);

  type Header = Readonly<Record<string, unknown>>;
  type Answer = (id: unknown, header: Header, body: Uint8Array | undefined) => object;

  const read: Answer = (id, header) => {
    const node = regular(String(header.path));
    const size = node.usedBytes ?? 0;
    const end = Math.min(whole(header.end), size);
    const contents = node.contents as Uint8Array;
    for (let at = whole(header.start); at < end; at += pieceBytes) {
      send(stringify({ t: "data", id }), contents.subarray(at, Math.min(at + pieceBytes, end)));
    }
    return { file: { size, modifiedMs: modifiedMs(node), version: changes.version(node) } };
  };

  const pathOfUpload = (upload: number) => `${incoming}/${upload}`;
  const drop = (upload: number) => {
    if (!uploads.delete(upload)) return;
    try {
      system.unlink(pathOfUpload(upload));
    } catch {
      // the program has already removed it
    }
  };
  const write: Answer = (_id, header, body) => {
    const upload = whole(header.upload);
    let node = uploads.get(upload);
    if (node === undefined) {
      system.mkdirTree(incoming);
      node = system.mknod(pathOfUpload(upload), 0o100644, 0);
      uploads.set(upload, node);
    }
    if (body !== undefined) stream.write({ node }, body, 0, body.length, node.usedBytes ?? 0, false);
    changes.forget(node);
    return {};
  };
  const place: Answer = (_id, header) => {
    const path = String(header.path);
    const upload = whole(header.upload);
    const node = uploads.get(upload);
    if (node === undefined) throw missing(path);
    const made: string[] = [];
    try {
      const parts = path.split("/");
      const name = parts.pop() ?? "";
      let directory = workspace();
      let prefix = "/workspace";
      for (const part of parts) {
        prefix = `${prefix}/${part}`;
        let next = entry(directory, part);
        if (next === undefined) {
          next = system.mkdir(prefix);
          made.push(prefix);
        }
        if (!isDirectory(next)) throw refusal("file_refused", `${path}: a part of the path is not a directory`);
        directory = next;
      }
      const present = entry(directory, name);
      if (present !== undefined && isDirectory(present)) throw refusal("file_refused", `${path} is a directory`);
      system.rename(pathOfUpload(upload), `${prefix}/${name}`);
    } catch (error) {
      for (const directory of made.reverse()) system.rmdir(directory);
      throw error;
    }
    uploads.delete(upload);
    changes.forget(node);
    return {};
  };
  const remove: Answer = (_id, header) => {
    const path = String(header.path);
    if (isDirectory(find(path))) throw refusal("file_refused", `${path} is a directory`);
    system.unlink(`/workspace/${path}`);
    return {};
  };

  const list: Answer = (id, header) => {
    const prefix = String(header.prefix ?? "");
    const after = String(header.after ?? "");
    const found = new Map<string, FileNode>();
    let entries = 0;
    let leftOut = 0;
    let truncated = false;
    const walk = (directory: FileNode, at: string, depth: number) => {
      for (const name of Object.keys(directory.contents as object)) {
        if (++entries > maxEntries) {
          truncated = true;
          return;
        }
        const node = entry(directory, name);
        if (node === undefined) continue;
        const path = `${at}${name}`;
        if (isDirectory(node)) {
          const all = `${path}/`;
          const mayHavePrefix = all.startsWith(prefix) || prefix.startsWith(all);
          if (!mayHavePrefix || !(all > after || after.startsWith(all))) continue;
          if (depth < maxDepth) walk(node, all, depth + 1);
          else truncated = true;
        } else if (path.startsWith(prefix) && path > after) {
          if (isFile(node) && path.length <= maxPathCharacters) found.set(path, node);
          else leftOut++;
        }
      }
    };
    walk(workspace(), "", 1);
    const paths = [...found.keys()].sort();
    const limit = whole(header.limit);
    const rows: string[] = [];
    let characters = 0;
    for (const path of paths) {
      if (rows.length >= limit || characters > maxPageCharacters) break;
      const node = found.get(path);
      if (node === undefined) continue;
      const facts = { size: node.usedBytes ?? 0, modifiedMs: modifiedMs(node), version: changes.version(node) };
      const row = stringify({ path, ...facts });
      characters += row.length;
      rows.push(row);
    }
    const next = paths.length > rows.length ? paths[rows.length - 1] : undefined;
    const rest = stringify({ next, leftOut, truncated });
    const data = encoder.encode(`{"files":[${rows.join(",")}],${rest.slice(1)}`);
    for (let at = 0; at < data.length; at += pieceBytes) {
      send(stringify({ t: "data", id }), data.subarray(at, at + pieceBytes));
    }
    return {};
  };

  const answers: Readonly<Record<string, Answer>> = {
    "file.read": read,
    "file.write": write,
    "file.place": place,
    "file.drop": (_id, header) => {
      drop(whole(header.upload));
      return {};
    },
    "file.remove": remove,
    "file.list": list,
  };

  const explain = (error: unknown): Refusal => {
    const { code, message, errno } = error as { code?: unknown; message?: unknown; errno?: unknown };
    if (errno === noSpace) return refusal("too_large", "the disk of the cell is full");
    if (typeof errno === "number") return refusal("file_refused", `the cell's file system refused it (${errno})`);
    if (typeof code === "string") return refusal(code, String(message));
    return refusal("file_refused", "the cell's file system failed");
  };

  return (text, body) => {
    const header = parse(text) as Header;
    const { id } = header;
    try {
      const fields = answers[String(header.t)]?.(id, header, body) ?? {};
      send(stringify({ t: "reply", id, ok: true, ...fields }), undefined);
    } catch (error) {
      if (header.t === "file.write") drop(whole(header.upload));
      send(stringify({ t: "reply", id, ok: false, ...explain(error) }), undefined);
    }
  };
}
