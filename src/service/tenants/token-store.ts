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

/** With the only token of a service, the policy's `session.limit` decides. */
const mostSessions = 10_000;

const tokenRecord = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, "use letters, digits, dots, dashes and underscores"),
  /** of the token; the token itself is nowhere */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  scopes: z.array(z.enum(scopes)).min(1),
  /** sessions it may have, saved ones included */
  sessions: z.int().min(1).max(mostSessions),
  namespace: z.string().refine(isNamespace, "not a namespace"),
  createdMs: z.int(),
  expiresMs: z.int().optional(),
});
/** A token as the store keeps it: its digest, never its text. */
export type TokenRecord = Readonly<z.output<typeof tokenRecord>>;

const fileSchema = z.strictObject({ version: z.literal(1), tokens: z.array(tokenRecord).max(10_000) });
const maxFileBytes = 8 * 1024 * 1024;

/** The namespace of the one token that the environment gives. */
const singleNamespace = "ns-000000000000";

/** What a new token is given. */
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

/** The tokens of a service: of a file that others may change meanwhile, or the one of the environment. */
export class TokenStore {
  readonly #path: string | undefined;
  readonly #fixed: readonly TokenRecord[];
  #records: readonly TokenRecord[] = [];
  #seen = "";
  #digests: TokenDigests | undefined;

  private constructor(path: string | undefined, fixed: readonly TokenRecord[]) {
    this.#path = path;
    this.#fixed = fixed;
  }

  /** A file that is not there has no tokens yet. */
  static async open(path: string): Promise<TokenStore> {
    const store = new TokenStore(path, []);
    await store.all();
    return store;
  }

  /** One token with every scope, for a service that has one user. */
  static single(token: string, sessions = mostSessions): TokenStore {
    if (token.length < 16 || /\s/.test(token)) {
      throw new CodecellError("usage", "the token must have at least 16 characters and no spaces", {
        hint: "create one with `openssl rand -hex 32`",
      });
    }
    const record = { name: "single", sha256: digest(token).toString("hex"), scopes: ["admin" as const], sessions };
    return new TokenStore(undefined, [{ ...record, namespace: singleNamespace, createdMs: 0 }]);
  }

  /** Whether a file holds the tokens, so that there may be several tenants. */
  get isShared(): boolean {
    return this.#path !== undefined;
  }

  /** Every token as it was when the file was last looked at; the same array as long as it is unchanged. */
  get current(): readonly TokenRecord[] {
    return this.#path === undefined ? this.#fixed : this.#records;
  }

  /** Every token as the file has it now. */
  async all(): Promise<readonly TokenRecord[]> {
    if (this.#path === undefined) return this.#fixed;
    // Every request asks: at once, one look costs a few microseconds, and through the thread pool a good part of a run.
    const stats = look(this.#path);
    if (stats && markOf(stats) === this.#seen) return this.#records;
    return this.#read(this.#path);
  }

  async #read(path: string): Promise<readonly TokenRecord[]> {
    const file = await open(path, "r").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return undefined;
      throw diskFailure(error) ?? new CodecellError("usage", `the tokens cannot be read: ${messageOf(error)}`);
    });
    if (!file) {
      if (this.#seen !== "") this.#records = [];
      this.#seen = "";
      return this.#records;
    }
    try {
      const stats = await file.stat();
      if (!stats.isFile()) throw new CodecellError("usage", `${path} is not a file`, { hint: "name a token file" });
      // Whoever can write it makes tokens for himself; whoever can read it learns the tenants.
      if ((stats.mode & 0o077) !== 0) {
        throw new CodecellError("usage", `${path} can be read by others`, { hint: `chmod 600 ${path}` });
      }
      const seen = markOf(stats);
      if (seen === this.#seen) return this.#records;
      if (stats.size > maxFileBytes) throw new CodecellError("usage", `${path} is too large to be a token file`);
      this.#records = parse(await file.readFile("utf8"), path);
      this.#seen = seen;
      return this.#records;
    } finally {
      await file.close();
    }
  }

  /** Whose token this is. Every record is compared, in constant time: the time of an answer tells nothing about any. */
  async find(header: string | undefined, nowMs: number): Promise<TokenRecord | undefined> {
    const given = digest(/^Bearer +(\S+)$/i.exec(header ?? "")?.[1] ?? "");
    let found: TokenRecord | undefined;
    for (const { record, sha256 } of this.#digestsOf(await this.all())) {
      if (timingSafeEqual(sha256, given)) found = record;
    }
    return found && !isOver(found, nowMs) ? found : undefined;
  }

  /** The digests as bytes, made once for each state of the file. */
  #digestsOf(records: readonly TokenRecord[]): TokenDigests["all"] {
    if (this.#digests?.of !== records) {
      this.#digests = {
        of: records,
        all: records.map((one) => ({ record: one, sha256: Buffer.from(one.sha256, "hex") })),
      };
    }
    return this.#digests.all;
  }

  /** Adds a token and answers with its text, which is shown this once. */
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

  /** A new secret for the same tenant: its sessions stay, and the old secret is worth nothing from now on. */
  async rotate(name: string): Promise<{ token: string; record: TokenRecord }> {
    const token = newTokenText();
    const sha256 = digest(token).toString("hex");
    const records = await this.#change((before) => {
      known(before, name);
      return before.map((one) => (one.name === name ? { ...one, sha256 } : one));
    });
    return { token, record: known(records, name) };
  }

  async remove(name: string): Promise<void> {
    await this.#change((records) => {
      known(records, name);
      return records.filter((one) => one.name !== name);
    });
  }

  async #change(edit: (records: readonly TokenRecord[]) => readonly TokenRecord[]): Promise<readonly TokenRecord[]> {
    if (this.#path === undefined) throw new CodecellError("internal", "a token from the environment cannot be changed");
    await makeDirectories(dirname(this.#path), 0o700);
    // Two commands at the same time would each write a file without the other's token.
    await using lock = await takeLock(`${this.#path}.lock`);
    if (!lock) throw new CodecellError("session_busy", "another command is changing the tokens", { hint: "try again" });
    const records = edit(await this.all());
    await writeFileAtomically(this.#path, `${JSON.stringify({ version: 1, tokens: records }, null, 2)}\n`);
    return records;
  }
}

export function isOver({ expiresMs = Number.POSITIVE_INFINITY }: TokenRecord, nowMs: number): boolean {
  return expiresMs <= nowMs;
}

/** A new token that cannot be guessed. */
export function newTokenText(): string {
  return `cc_${randomBytes(32).toString("base64url")}`;
}

function known(records: readonly TokenRecord[], name: string): TokenRecord {
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

function look(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined; // opening it says why
  }
}

/** Tells one state of the file from another; who may read it counts too, for what others can read is not believed. */
function markOf({ ino, size, mtimeMs, ctimeMs, mode }: Stats): string {
  return `${ino}:${size}:${mtimeMs}:${ctimeMs}:${mode}`;
}

function wrongToken(name: string, { issues: [issue] }: z.ZodError): string {
  const message = issue?.message ?? "it is invalid";
  return issue?.path[0] === "name" ? `${JSON.stringify(name.slice(0, 80))} is not a valid name: ${message}` : message;
}
