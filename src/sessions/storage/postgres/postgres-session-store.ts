import { createHash } from "node:crypto";
import { CodecellError } from "../../../lib/errors.ts";
import { type Logger, silentLogger } from "../../../lib/log/logger.ts";
import { BlobRows } from "../../../store/postgres/blob-rows.ts";
import type { Database } from "../../../store/postgres/database.ts";
import { HistoryRows } from "../../../store/postgres/history-rows.ts";
import { ProcessOwners } from "../../../store/postgres/process-owners.ts";
import type { SessionOwners } from "../../../store/postgres/session-owner.ts";
import { SessionRows } from "../../../store/postgres/session-rows.ts";
import type { RecordedOutputs } from "../../runs/recorded-outputs.ts";
import { checkSessionId } from "../../session-id.ts";
import { blobDamaged, blobMissing, isSha256 } from "../blob-errors.ts";
import { hashOf, joinOutputs, outputKey, parseOutputLine } from "../output-line.ts";
import { type HistoryEntry, parsedEntry } from "../session-history.ts";
import {
  checkedRecord,
  damagedSnapshot,
  maxRecordBytes,
  type SessionRecord,
  type SnapshotInfo,
} from "../session-record.ts";
import type { LockOptions, PreviousHolder, SessionStorage } from "../session-storage.ts";
import { SessionWorkspaces } from "../session-workspaces.ts";
import { HeldRows } from "./held-rows.ts";

export interface PostgresStoreOptions {
  /** whose schema is up to date */
  readonly database: Database;
  /** the same if the store closes it */
  readonly own?: Database | undefined;
  /** for the directories of sessions on this machine */
  readonly stateDir: string;
  /** who has which session; owned by the store. Default: processes, told apart by their connections */
  readonly owners?: SessionOwners | undefined;
  readonly logger?: Logger;
}

/** A larger display was never stored. */
const maxDisplayBytes = 64 * 1024 * 1024;

/** Sessions in PostgreSQL, which several machines share. The directories of sessions are on each machine. */
export class PostgresSessionStore implements SessionStorage {
  readonly medium = "postgresql";
  readonly workspaces: SessionWorkspaces;
  readonly #owners: SessionOwners;
  readonly #own: Database | undefined;
  readonly #rows: { readonly sessions: SessionRows; readonly blobs: BlobRows; readonly history: HistoryRows };

  private constructor(
    workspaces: SessionWorkspaces,
    owners: SessionOwners,
    { database, own }: Pick<PostgresStoreOptions, "database" | "own">,
  ) {
    this.#own = own;
    this.workspaces = workspaces;
    this.#owners = owners;
    this.#rows = {
      sessions: new SessionRows(database),
      blobs: new BlobRows(database),
      history: new HistoryRows(database),
    };
  }

  static async open(options: PostgresStoreOptions): Promise<PostgresSessionStore> {
    const { database, logger = silentLogger } = options;
    const workspaces = await SessionWorkspaces.open(options.stateDir, { sharedStore: database.label });
    const owners = options.owners ?? (await ProcessOwners.open(database, logger));
    return new PostgresSessionStore(workspaces, owners, options);
  }

  async lock(id: string, options?: LockOptions): Promise<HeldRows> {
    const ownership = await this.#owners.acquire(checkSessionId(id), options);
    if (ownership) return new HeldRows(id, ownership, this.#owners, this.#rows);
    throw new CodecellError("session_busy", `session ${id} is open in another process`, {
      hint: "close it there, or use another id",
      details: { reason: "open_elsewhere" },
    });
  }

  isLocked(id: string): Promise<boolean> {
    return this.#owners.isOwned(checkSessionId(id));
  }

  async read(id: string): Promise<SessionRecord | undefined> {
    const text = await this.#rows.sessions.read(checkSessionId(id), maxRecordBytes);
    return text === undefined ? undefined : checkedRecord(id, () => parsed(text));
  }

  list(prefix = ""): Promise<string[]> {
    return this.#rows.sessions.list(prefix);
  }

  async records(prefix: string): Promise<SessionRecord[]> {
    const records: SessionRecord[] = [];
    for await (const { id, record } of this.#rows.sessions.records(prefix, maxRecordBytes)) {
      try {
        records.push(checkedRecord(id, () => parsed(record)));
      } catch {
        // a damaged one is listed by `list`
      }
    }
    return records;
  }

  async namedAmong(workspaces: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(await this.#rows.sessions.namedAmong(workspaces));
  }

  isUnsaved(id: string): Promise<boolean> {
    return this.#rows.sessions.isUnsaved(checkSessionId(id));
  }

  async history(id: string, limit: number): Promise<HistoryEntry[]> {
    return (await this.#rows.history.latest(checkSessionId(id), limit)).flatMap(parsedEntry);
  }

  async lastRun(id: string): Promise<number> {
    return (await this.history(id, 1)).at(-1)?.run ?? 0;
  }

  async withOutputs(id: string, entries: readonly HistoryEntry[]): Promise<HistoryEntry[]> {
    checkSessionId(id);
    const found = new Map<string, RecordedOutputs>();
    for (const entry of entries) {
      if (entry.isSilent) continue;
      const line = await this.#rows.history.output(id, entry.run, entry.atMs);
      const outputs =
        line === undefined ? undefined : await parseOutputLine(line, (sha256) => this.#display(id, sha256));
      if (outputs) found.set(outputKey(entry), outputs);
    }
    return joinOutputs(entries, found);
  }

  async readSnapshot(id: string, info: SnapshotInfo): Promise<Uint8Array> {
    const stored = await this.#rows.blobs.size(checkSessionId(id), "snapshot", info.sha256);
    if (stored === undefined) throw damagedSnapshot(id, "the database does not have them");
    if (stored !== info.bytes) throw damagedSnapshot(id, `they have ${stored} bytes instead of ${info.bytes}`);
    const data = Buffer.allocUnsafeSlow(info.bytes);
    const hash = createHash("sha256");
    let at = 0;
    for await (const piece of this.#rows.blobs.read(id, "snapshot", info.sha256)) {
      if (at + piece.byteLength > data.byteLength) throw damagedSnapshot(id, "they are longer than they were");
      hash.update(piece);
      at += piece.copy(data, at);
    }
    if (at !== data.byteLength || hash.digest("hex") !== info.sha256)
      throw damagedSnapshot(id, "the checksum does not match");
    return data;
  }

  async *readBlob(id: string, sha256: string, start = 0): AsyncGenerator<Uint8Array> {
    checkSessionId(id);
    if (!isSha256(sha256)) throw new CodecellError("internal", "the name of a blob is its sha256");
    if (!(await this.#rows.blobs.has(id, "file", sha256))) throw blobMissing(sha256);
    const hash = createHash("sha256");
    for await (const piece of this.#rows.blobs.read(id, "file", sha256, start)) {
      hash.update(piece);
      yield piece;
    }
    if (start === 0 && hash.digest("hex") !== sha256) throw blobDamaged(sha256);
  }

  lostHolder(id: string): Promise<PreviousHolder | undefined> {
    return this.#rows.sessions.lostOwner(checkSessionId(id));
  }

  removeUnfinished(): Promise<void> {
    return this.#rows.sessions.removeUnfinished();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owners[Symbol.asyncDispose]();
    await this.#own?.[Symbol.asyncDispose]();
  }

  /** Undefined: it is gone, or not what was stored. */
  async #display(id: string, sha256: string): Promise<Buffer | undefined> {
    const size = await this.#rows.blobs.size(id, "display", sha256);
    if (size === undefined || size > maxDisplayBytes) return undefined;
    const pieces: Buffer[] = [];
    for await (const piece of this.#rows.blobs.read(id, "display", sha256)) pieces.push(piece);
    const data = Buffer.concat(pieces);
    return hashOf(data) === sha256 ? data : undefined;
  }
}

function parsed(text: string | null): unknown {
  if (text === null) throw new Error("it is too large to be a session record");
  return JSON.parse(text);
}
