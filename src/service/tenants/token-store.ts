import { type Stats, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { takeLock } from "../../lib/files/liveness-lock.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import { type MadeToken, madeToken, type NewToken, newSecret } from "./new-token.ts";
import { TokenFinder } from "./token-finder.ts";
import { digestOf, maxSessions, maxTokens, type TokenRecord, tokenSchema } from "./token-record.ts";
import { type TokenStorage, tokenExists, tokenUnknown } from "./token-storage.ts";

const fileSchema = z.strictObject({ version: z.literal(1), tokens: z.array(tokenSchema).max(maxTokens) });
const maxFileBytes = 8 * 1024 * 1024;

/** The namespace of the single token from the environment. */
const singleNamespace = "ns-000000000000";

/** The tokens of a service: from a file that other processes may change at any time, or a single token. */
export class TokenStore implements TokenStorage {
  readonly #path: string | undefined;
  readonly #fixed: readonly TokenRecord[];
  #records: readonly TokenRecord[] = [];
  #version = "";
  readonly #finder = new TokenFinder();

  private constructor(path: string | undefined, fixed: readonly TokenRecord[]) {
    this.#path = path;
    this.#fixed = fixed;
  }

  /** A missing file means that there are no tokens yet. */
  static async open(path: string): Promise<TokenStore> {
    const store = new TokenStore(path, []);
    await store.all();
    return store;
  }

  /** One token with every scope, for a service with one user. */
  static single(token: string, sessions = maxSessions): TokenStore {
    if (token.length < 16 || /\s/.test(token)) {
      throw new CodecellError("usage", "the token must have at least 16 characters and no spaces", {
        hint: "create one with `openssl rand -hex 32`",
      });
    }
    const record = { name: "single", sha256: digestOf(token).toString("hex"), scopes: ["admin" as const], sessions };
    return new TokenStore(undefined, [{ ...record, namespace: singleNamespace, createdMs: 0 }]);
  }

  /** Whether the tokens are in a file, so that there can be several tenants. */
  get isShared(): boolean {
    return this.#path !== undefined;
  }

  /** All tokens as of the last check of the file; the same array until the file changes. */
  get current(): readonly TokenRecord[] {
    return this.#path === undefined ? this.#fixed : this.#records;
  }

  /** All tokens that are in the file now. */
  async all(): Promise<readonly TokenRecord[]> {
    if (this.#path === undefined) return this.#fixed;
    // Synchronous, because every request calls this: `statSync` takes microseconds, and the thread pool takes much longer.
    const stats = statOf(this.#path);
    if (stats && versionOf(stats) === this.#version) return this.#records;
    return this.#read(this.#path);
  }

  async #read(path: string): Promise<readonly TokenRecord[]> {
    const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw diskFailure(error) ?? new CodecellError("usage", `the tokens cannot be read: ${messageOf(error)}`);
    });
    if (!file) {
      if (this.#version !== "") this.#records = [];
      this.#version = "";
      return this.#records;
    }
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new CodecellError("usage", `${path} is not a file`, { hint: "name a token file" });
      // The attack: another user writes a token into the file, or reads who the tenants are.
      if ((stats.mode & 0o077) !== 0) {
        throw new CodecellError("usage", `${path} can be read by others`, { hint: `chmod 600 ${path}` });
      }
      const version = versionOf(stats);
      if (version === this.#version) return this.#records;
      if (stats.size > maxFileBytes) throw new CodecellError("usage", `${path} is too large to be a token file`);
      this.#records = parse(await file.readFile("utf8"), path);
      this.#version = version;
      return this.#records;
    } finally {
      await file.close();
    }
  }

  async find(header: string | undefined, nowMs: number): Promise<TokenRecord | undefined> {
    return this.#finder.find(await this.all(), header, nowMs);
  }

  async create(token: NewToken, nowMs: number): Promise<MadeToken> {
    const made = madeToken(token, nowMs);
    await this.#change((records) => {
      if (records.some(({ name }) => name === token.name)) throw tokenExists(token.name);
      return [...records, made.record];
    });
    return made;
  }

  async rotate(name: string): Promise<MadeToken> {
    const { token, sha256 } = newSecret();
    const records = await this.#change((before) => {
      requireToken(before, name);
      return before.map((one) => (one.name === name ? { ...one, sha256 } : one));
    });
    return { token, record: requireToken(records, name) };
  }

  async remove(name: string): Promise<void> {
    await this.#change((records) => {
      requireToken(records, name);
      return records.filter((one) => one.name !== name);
    });
  }

  async #change(edit: (records: readonly TokenRecord[]) => readonly TokenRecord[]): Promise<readonly TokenRecord[]> {
    if (this.#path === undefined) throw new CodecellError("internal", "a token from the environment cannot be changed");
    await makeDirectories(dirname(this.#path), 0o700);
    // Without the lock, two concurrent commands would each lose the other's token.
    await using lock = await takeLock(`${this.#path}.lock`);
    if (!lock) throw new CodecellError("session_busy", "another command is changing the tokens", { hint: "try again" });
    const records = edit(await this.all());
    await writeFileAtomically(this.#path, `${JSON.stringify({ version: 1, tokens: records }, null, 2)}\n`);
    return records;
  }
}

function requireToken(records: readonly TokenRecord[], name: string): TokenRecord {
  const record = records.find((one) => one.name === name);
  if (record) return record;
  throw tokenUnknown(name);
}

function parse(text: string, path: string): readonly TokenRecord[] {
  try {
    return fileSchema.parse(JSON.parse(text)).tokens;
  } catch (cause) {
    throw new CodecellError("usage", `${path} is not a token file`, {
      cause,
      hint: "create one with `codecell token create`",
    });
  }
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // opening it reports the reason
  }
}

/** Changes with every version of the file. It includes the mode, because a file that others can read is refused. */
function versionOf({ ino, size, mtimeMs, ctimeMs, mode }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}:${mode}`;
}
