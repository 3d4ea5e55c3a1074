import * as fs from "node:fs";
import { join } from "node:path";
import { privateRuntimePath } from "./runtime-path.ts";

const keepMs = 7 * 24 * 3_600_000;

/**
 * Where the command line keeps its compiled code. Undefined: nowhere, because programs are often given all of /tmp, and whoever
 * can write to this directory can run code as this user.
 */
export function compiledCodeDirectory(uid = process.getuid?.() ?? 0, runtime = process.env.XDG_RUNTIME_DIR) {
  const path = privateRuntimePath(uid, runtime);
  return path && join(path, "compiled");
}

/**
 * What V8 compiled in an earlier process, kept on disk. It is synchronous, because it is needed before anything else can start.
 * Nothing here fails: without the files, V8 compiles again.
 */
export class CompiledCode {
  readonly #directory: string;
  readonly #uid: number;

  constructor(directory: string, uid = process.getuid?.() ?? 0) {
    this.#directory = directory;
    this.#uid = uid;
  }

  /** V8 runs what it finds in the file. The attack: another user writes the file, or a link in its place. */
  read(name: string): Buffer | undefined {
    let file: number | undefined;
    try {
      if (!this.#isPrivate()) return undefined;
      file = fs.openSync(
        join(this.#directory, name),
        fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK,
      );
      const stats = fs.fstatSync(file);
      const isOwn = stats.isFile() && stats.uid === this.#uid && (stats.mode & 0o077) === 0;
      return isOwn ? fs.readFileSync(file) : undefined;
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) fs.closeSync(file);
    }
  }

  /** Replaces the files atomically, because other processes may read them now. Removes those that are a week old. */
  save(files: ReadonlyMap<string, Buffer>): void {
    try {
      if (lstatOf(this.#directory) === undefined) fs.mkdirSync(this.#directory, { mode: 0o700 });
      if (!this.#isPrivate()) return;
      for (const [name, data] of files) {
        const draft = join(this.#directory, `${name}.${process.pid}.draft`);
        fs.writeFileSync(draft, data, { mode: 0o600, flag: "wx" });
        fs.renameSync(draft, join(this.#directory, name));
      }
      for (const name of fs.readdirSync(this.#directory)) this.#removeOld(join(this.#directory, name));
    } catch {}
  }

  #removeOld(path: string): void {
    if (Date.now() - fs.statSync(path).mtimeMs > keepMs) fs.rmSync(path, { force: true });
  }

  /** The runtime directory is checked too: who can write there can put another directory in the place of ours. */
  #isPrivate(): boolean {
    return [join(this.#directory, ".."), this.#directory].every((path) => {
      const stats = lstatOf(path);
      return stats?.isDirectory() && stats.uid === this.#uid && (stats.mode & 0o022) === 0;
    });
  }
}

function lstatOf(path: string) {
  try {
    return fs.lstatSync(path);
  } catch {
    return undefined;
  }
}
