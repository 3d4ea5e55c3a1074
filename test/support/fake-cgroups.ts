import { basename, dirname } from "node:path";
import type { CgroupFiles, Counter } from "../../src/runners/process/cgroup/cgroup-files.ts";

/** A simulated cgroup file system: control files appear with a group, and v2's rules about inner nodes apply. */
export class FakeCgroups implements CgroupFiles {
  readonly contents = new Map<string, string>();
  readonly owners = new Map<string, number>();
  /** every change, in order */
  readonly log: string[] = [];
  readonly #failures = new Map<string, string>();
  readonly #controlFiles: readonly string[];

  constructor(controlFiles: readonly string[]) {
    this.#controlFiles = controlFiles;
  }

  /** The next operations on this path fail; `times` says how many. */
  fail(path: string, code: string, times = Number.POSITIVE_INFINITY): void {
    let left = times;
    this.#failures.set(path, code);
    this.#take.set(path, () => left-- > 0);
  }
  readonly #take = new Map<string, () => boolean>();

  async read(path: string): Promise<string> {
    const text = this.contents.get(path);
    if (text === undefined) throw systemError("ENOENT", path);
    return text;
  }

  openCounter(path: string): Counter {
    if (!this.contents.has(path)) throw systemError("ENOENT", path);
    return { read: () => this.contents.get(path) ?? "", [Symbol.dispose]() {} };
  }

  async write(path: string, text: string): Promise<void> {
    this.#refuse(path);
    if (!this.contents.has(path)) throw systemError("ENOENT", path);
    const directory = dirname(path);
    const members = this.contents.get(`${directory}/cgroup.procs`) ?? "";
    if (basename(path) === "cgroup.subtree_control") {
      if (members !== "") throw systemError("EBUSY", path);
      text = text.replaceAll("+", "");
    }
    if (basename(path) === "cgroup.procs") {
      for (const [file, list] of this.contents) {
        if (basename(file) === "cgroup.procs") this.contents.set(file, list.replace(`${text}\n`, ""));
      }
      text = `${members}${text}\n`;
    }
    this.contents.set(path, text);
    this.log.push(`${path} = ${text.trim()}`);
  }

  async mkdir(path: string): Promise<void> {
    this.#refuse(path);
    if (this.contents.has(`${path}/cgroup.procs`)) throw systemError("EEXIST", path);
    for (const file of ["cgroup.procs", "tasks", ...this.#controlFiles]) this.contents.set(`${path}/${file}`, "");
    this.log.push(`mkdir ${path}`);
  }

  async rmdir(path: string): Promise<void> {
    this.#refuse(path);
    if (!this.contents.has(`${path}/cgroup.procs`)) throw systemError("ENOENT", path);
    for (const file of [...this.contents.keys()]) if (file.startsWith(`${path}/`)) this.contents.delete(file);
    this.log.push(`rmdir ${path}`);
  }

  async chown(path: string, uid: number): Promise<void> {
    this.owners.set(path, uid);
  }

  #refuse(path: string): void {
    const code = this.#failures.get(path);
    if (code !== undefined && this.#take.get(path)?.()) throw systemError(code, path);
  }
}

function systemError(code: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code });
}
