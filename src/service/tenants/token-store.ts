import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { type Stats, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import { diskFailure } from "../../lib/files/disk-failure.ts";
import { takeLock } from "../../lib/files/liveness-lock.ts";
import { makeDirectories } from "../../lib/files/make-directories.ts";
import { isNamespace, newNamespace } from "../../sessions/session-id.ts";
import { type Scope, scopes } from "./scope.ts";

/** Limit of sessions per token. For a single token this is no limit: the policy's `session.limit` applies. */
const maxSessions = 10_000;

const tokenRecord = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, "use letters, digits, dots, dashes and underscores"),
  /** of the token, which itself is never stored */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  scopes: z.array(z.enum(scopes)).min(1),
  /** limit of its sessions, saved ones included */
  sessions: z.int().min(1).max(maxSessions),
  namespace: z.string().refine(isNamespace, "not a namespace"),
  createdMs: z.int(),
  expiresMs: z.int().optional(),
});
/** A token as the store keeps it: its digest, never its text. */
export type TokenRecord = Readonly<z.output<typeof tokenRecord>>;

const fileSchema = z.strictObject({ version: z.literal(1), tokens: z.array(tokenRecord).max(10_000) });
const maxFileBytes = 8 * 1024 * 1024;

/** The namespace of the single token from the environment. */
const singleNamespace = "ns-000000000000";

/** Options of a new token. */
export interface NewToken {
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly sessions: number;
  readonly expiresMs?: number | undefined;
}

interface TokenDigests {
  readonly of: readonly TokenRecord[];
  readonly all: readonly { readonly record: TokenRecord; readonly sha256: Uint8Array }[];
}

/** The tokens of a service: from a file that other processes may change at any time, or a single token. */
export class TokenStore {
  readonly #path: string | undefined;
  readonly #fixed: readonly TokenRecord[];
  #records: readonly TokenRecord[] = [];
  #version = "";
  #digests: TokenDigests | undefined;

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
    const record = { name: "single", sha256: digest(token).toString("hex"), scopes: ["admin" as const], sessions };
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

  /** The record of the token in a header. Compares every record in constant time, so that timing reveals nothing. */
  async find(header: string | undefined, nowMs: number): Promise<TokenRecord | undefined> {
    const given = digest(/^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "");
    let found: TokenRecord | undefined;
    for (const { record, sha256 } of this.#digestsOf(await this.all())) {
      if (timingSafeEqual(sha256, given)) found = record;
    }
    return found && !isExpired(found, nowMs) ? found : undefined;
  }

  /** The digests as bytes, computed once per version of the file. */
  #digestsOf(records: readonly TokenRecord[]): TokenDigests["all"] {
    if (this.#digests?.of !== records) {
      this.#digests = {
        of: records,
        all: records.map((one) => ({ record: one, sha256: Buffer.from(one.sha256, "hex") })),
      };
    }
    return this.#digests.all;
  }

  /** Adds a token and returns its text, which cannot be shown again. */
  async create({ name, expiresMs, ...rest }: NewToken, nowMs: number): Promise<{ token: string; record: TokenRecord }> {
    const token = newTokenText();
    const record = tokenRecord.safeParse({
      ...{ name, ...rest, sha256: digest(token).toString("hex"), namespace: newNamespace(), createdMs: nowMs },
      ...(expiresMs === undefined ? {} : { expiresMs }),
    });
    if (!record.success) throw new CodecellError("usage", wrongToken(name, record.error));
    await this.#change((records) => {
      if (records.some((one) => one.name === name)) {
        throw new CodecellError("usage", `token ${name} already exists`, {
          hint: `use another name, or run \`codecell token rotate ${name}\` to get a new secret`,
        });
      }
      return [...records, record.data];
    });
    return { token, record: record.data };
  }

  /** Creates a new secret for the same tenant. Its sessions stay, and the old secret stops working at once. */
  async rotate(name: string): Promise<{ token: string; record: TokenRecord }> {
    const token = newTokenText();
    const sha256 = digest(token).toString("hex");
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

export function isExpired({ expiresMs = Number.POSITIVE_INFINITY }: TokenRecord, nowMs: number): boolean {
  return expiresMs <= nowMs;
}

/** A new token that cannot be guessed. */
export function newTokenText(): string {
  return `cc_${randomBytes(32).toString("base64url")}`;
}

function requireToken(records: readonly TokenRecord[], name: string): TokenRecord {
  const record = records.find((one) => one.name === name);
  if (record) return record;
  throw new CodecellError("usage", `there is no token named ${JSON.stringify(name.slice(0, 80))}`, {
    hint: "`codecell token ls` lists the tokens",
  });
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

function digest(text: string): Buffer {
  return hash("sha256", text, "buffer");
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

function wrongToken(name: string, { issues: [issue] }: z.ZodError): string {
  const message = issue?.message ?? "it is invalid";
  return issue?.path[0] === "name" ? `${JSON.stringify(name.slice(0, 80))} is not a valid name: ${message}` : message;
}
