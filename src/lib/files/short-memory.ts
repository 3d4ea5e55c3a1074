import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomically } from "./atomic-file.ts";
import { openRuntimeDirectory } from "./runtime-directory.ts";

const maxBytes = 64 * 1024;

/** What was remembered, and how long ago. */
export interface Memory {
  readonly value: unknown;
  readonly ageMs: number;
}

/**
 * Answers to slow questions, kept on disk for a short time, so that the next process need not ask again. Nobody relies on
 * them for isolation: the value is unchecked, and whoever recalls it validates it.
 */
export class ShortMemory {
  readonly #name: string;
  readonly #keepMs: number;
  readonly #runtimeDir: string | undefined;

  constructor(name: string, { keepMs, runtimeDir }: { keepMs: number; runtimeDir?: string | undefined }) {
    this.#name = name;
    this.#keepMs = keepMs;
    this.#runtimeDir = runtimeDir;
  }

  /** The value for this key, unless it is too old. The key says what the answer depends on. */
  async recall(key: string): Promise<Memory | undefined> {
    try {
      const stored = JSON.parse(readOwn(await this.#path())) as { key: unknown; at: unknown; value: unknown };
      if (stored.key !== key || typeof stored.at !== "number") return undefined;
      const ageMs = Date.now() - stored.at;
      return ageMs >= 0 && ageMs <= this.#keepMs ? { value: stored.value, ageMs } : undefined;
    } catch {
      return undefined;
    }
  }

  /** Failing to remember is no failure: the question is asked again. */
  async remember(key: string, value: unknown): Promise<void> {
    try {
      await writeFileAtomically(await this.#path(), JSON.stringify({ key, at: Date.now(), value }));
    } catch {}
  }

  async forget(): Promise<void> {
    await this.#path()
      .then((path) => rm(path, { force: true }))
      .catch(() => {});
  }

  async #path(): Promise<string> {
    return join(await openRuntimeDirectory(this.#runtimeDir), `remembered-${this.#name}.json`);
  }
}

/** The attack: another user writes the file, or a link in its place, to have us believe something. */
function readOwn(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    const isOwn = stats.isFile() && stats.uid === process.getuid?.() && (stats.mode & 0o077) === 0;
    if (!isOwn || stats.size > maxBytes) throw new Error("not a file of this user alone");
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}
