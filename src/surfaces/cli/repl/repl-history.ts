import { readFile, rename, writeFile } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import { userHome } from "../../../lib/files/user-home.ts";
import type { Terminal } from "../shell/terminal.ts";

const maxLines = 1000;

/** Lines typed into earlier repls, newest first, as in `node:readline`. If it cannot be read, it is empty. */
export class ReplHistory {
  /** undefined: there is no place for it */
  readonly #directory: string | undefined;
  lines: string[] = [];

  constructor(env: Terminal["env"]) {
    this.#directory = stateDirectory(env);
  }

  async load(): Promise<void> {
    if (this.#directory === undefined) return;
    const text = await readFile(join(this.#directory, "repl_history"), "utf8").catch(() => "");
    this.lines = text.split("\n").filter(Boolean).slice(0, maxLines);
  }

  /** Entries may contain secrets, so only the user can read the file. */
  async save(): Promise<void> {
    if (this.#directory === undefined || this.lines.length === 0) return;
    const file = join(this.#directory, "repl_history");
    const fresh = `${file}.${process.pid}`;
    try {
      await makeDirectories(this.#directory, 0o700);
      await writeFile(fresh, `${this.lines.slice(0, maxLines).join("\n")}\n`, { mode: 0o600 });
      await rename(fresh, file);
    } catch {
      // do not fail if the home directory is read-only
    }
  }
}

/** `$XDG_STATE_HOME/codecell`; a relative value is ignored, as the specification says. */
function stateDirectory(env: Terminal["env"]): string | undefined {
  const state = env.XDG_STATE_HOME;
  if (state !== undefined && isAbsolute(state)) return join(state, "codecell");
  const home = userHome(env);
  return home === undefined ? undefined : join(home, ".local", "state", "codecell");
}
