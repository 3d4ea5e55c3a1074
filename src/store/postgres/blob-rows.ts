import { createHash, randomUUID } from "node:crypto";
import type { Database, Queries } from "./database.ts";
import { isDuplicate, lostOwnership } from "./database-errors.ts";
import type { Ownership } from "./session-owner.ts";
import { mine } from "./session-rows.ts";

export type BlobKind = "snapshot" | "file" | "display";

/** Bytes are sent in pieces, so that neither side holds a whole snapshot more than once. All but the last are this long. */
const pieceBytes = 1024 * 1024;

/** Bytes of sessions, by their hash. Those of one session are never visible in another: equal bytes would tell tenants apart. */
export class BlobRows {
  readonly #queries: Queries;

  constructor({ bulk }: Pick<Database, "bulk">) {
    this.#queries = bulk;
  }

  /** Stores bytes, each piece under the ownership of the session. They count when all of them are there. */
  async write(
    id: string,
    ownership: Ownership,
    kind: BlobKind,
    source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  ): Promise<{ sha256: string; bytes: number }> {
    const { owner, epoch } = ownership;
    const blob = randomUUID();
    const begun = await this.#queries.query(
      `with ${mine} insert into codecell.blobs (id, session_id, kind, epoch) select $4, id, $5, $3 from mine returning 1`,
      [id, owner, epoch, blob, kind],
    );
    if (begun.length === 0) throw lostOwnership(id);
    try {
      const hash = createHash("sha256");
      let [bytes, piece] = [0, 0];
      for await (const data of inPieces(source)) {
        hash.update(data);
        bytes += data.byteLength;
        const written = await this.#queries.query(
          `with ${mine} insert into codecell.blob_pieces (blob_id, piece, data) select $4, $5, $6 from mine returning 1`,
          [id, owner, epoch, blob, piece++, data],
        );
        if (written.length === 0) throw lostOwnership(id);
      }
      const sha256 = hash.digest("hex");
      await this.#complete(id, ownership, { blob, kind, sha256, bytes });
      return { sha256, bytes };
    } catch (error) {
      // What cannot be removed now is removed by the next prune.
      await this.#queries.query("delete from codecell.blobs where id = $1 and sha256 is null", [blob]).catch(() => {});
      throw error;
    }
  }

  /** Whether the session has these bytes. */
  async has(id: string, kind: BlobKind, sha256: string): Promise<boolean> {
    const rows = await this.#queries.query(
      "select 1 from codecell.blobs where session_id = $1 and kind = $2 and sha256 = $3",
      [id, kind, sha256],
    );
    return rows.length > 0;
  }

  /** How many bytes it has; undefined: there is none. */
  async size(id: string, kind: BlobKind, sha256: string): Promise<number | undefined> {
    const [row] = await this.#queries.query<{ bytes: string }>(
      "select bytes from codecell.blobs where session_id = $1 and kind = $2 and sha256 = $3",
      [id, kind, sha256],
    );
    return row && Number(row.bytes);
  }

  /** The pieces in order, from the byte `start` on, one statement each. The caller checks the hash. */
  async *read(id: string, kind: BlobKind, sha256: string, start = 0): AsyncGenerator<Buffer> {
    const first = Math.floor(start / pieceBytes);
    for (let piece = first; ; piece++) {
      const [row] = await this.#queries.query<{ data: Buffer }>(
        `select data from codecell.blob_pieces join codecell.blobs on blobs.id = blob_id
         where session_id = $1 and kind = $2 and sha256 = $3 and piece = $4`,
        [id, kind, sha256, piece],
      );
      if (!row) return;
      yield piece === first ? row.data.subarray(start - first * pieceBytes) : row.data;
    }
  }

  /** Removes all of a kind, except for these hashes. Who holds a session writes one set at a time: incomplete ones go too. */
  async prune(id: string, { owner, epoch }: Ownership, kind: BlobKind, kept: readonly string[]): Promise<void> {
    const [row] = await this.#queries.query<{ count: string }>(
      `with ${mine}, gone as (
         delete from codecell.blobs using mine
         where session_id = mine.id and kind = $4 and (sha256 is null or sha256 <> all($5)))
       select count(*) from mine`,
      [id, owner, epoch, kind, kept],
    );
    if (row?.count !== "1") throw lostOwnership(id);
  }

  /**
   * The older of two equal ones stays. Two that are completed at the same time do not see each other: the index refuses the second
   * one. The attack, or accident: a program with two equal files that makes its own session impossible to save.
   */
  async #complete(
    id: string,
    { owner, epoch }: Ownership,
    { blob, kind, sha256, bytes }: { blob: string; kind: BlobKind; sha256: string; bytes: number },
  ): Promise<void> {
    const completing = this.#queries.query(
      `with ${mine}, older as (
         select 1 from codecell.blobs, mine where session_id = mine.id and kind = $5 and sha256 = $6)
       update codecell.blobs set sha256 = $6, bytes = $7 from mine
       where blobs.id = $4 and not exists (select 1 from older) returning 1`,
      [id, owner, epoch, blob, kind, sha256, bytes],
    );
    const rows = await completing.catch((error: unknown) => {
      if (isDuplicate(error)) return [];
      throw error;
    });
    if (rows.length > 0) return;
    if (!(await this.has(id, kind, sha256))) throw lostOwnership(id);
    await this.#queries.query("delete from codecell.blobs where id = $1 and sha256 is null", [blob]);
  }
}

/** The same bytes in pieces of at most `pieceBytes`; small ones are joined. Each piece is a buffer of its own. */
async function* inPieces(source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncGenerator<Buffer> {
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  for await (const data of source) {
    for (let at = 0; at < data.byteLength; ) {
      const part = data.subarray(at, at + pieceBytes - waitingBytes);
      at += part.byteLength;
      waiting.push(part);
      waitingBytes += part.byteLength;
      if (waitingBytes < pieceBytes) continue;
      yield joined(waiting);
      [waiting, waitingBytes] = [[], 0];
    }
  }
  if (waitingBytes > 0) yield joined(waiting);
}

function joined(parts: readonly Uint8Array[]): Buffer {
  const [only] = parts;
  return parts.length === 1 && only ? Buffer.from(only.buffer, only.byteOffset, only.byteLength) : Buffer.concat(parts);
}
