import { z } from "zod";
import { type AuditPlace, auditPlaces, followAudit } from "../../audit/follow.ts";
import { type AuditPage, type AuditPlaces, auditPage } from "../../audit/page.ts";
import { type AuditEntry, type AuditFilter, lastEntries } from "../../audit/read.ts";
import { type AuditReport, verifyAudit } from "../../audit/verify.ts";
import { CodecellError } from "../../lib/errors.ts";
import { SealedText } from "../../lib/sealed-text.ts";
import { SerialQueues } from "../../lib/serial-queues.ts";

/** Files of 16 MiB that the search for the last events goes back in each chain. */
const maxFilesBack = 4;
/** What the last events take at most: their code is in them, and a page lies in memory until its reader has taken it. */
const maxLastBytes = 4 * 1024 * 1024;
/** What one page reads at most, whatever fits: a rare kind of event comes in more pages, not in a longer answer. */
const maxPageBytes = 16 * 1024 * 1024;

const cursorSchema = z.array(z.tuple([z.string(), z.int().min(1), z.int().min(0)])).max(10_000);

/** Who reads a page, and until when. */
export interface PageReader {
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** The audit as callers page through it. Cursors are sealed: offsets in the files would tell how much others do. */
export class AuditReader {
  readonly #dir: string;
  readonly #cursors: SealedText;
  /** The attack: one caller who has many pages read at once takes memory and processor from everybody. */
  readonly #turns = new SerialQueues();
  #verifying: Promise<AuditReport> | undefined;

  constructor(dir: string, secret: Uint8Array) {
    this.#dir = dir;
    this.#cursors = new SealedText(secret, "codecell audit cursor");
  }

  /** The last entries that fit, and where to go on from. */
  last(reader: PageReader, limit: number, filter: AuditFilter): Promise<AuditPage> {
    const read = async () => {
      // Before the entries: what comes in between is given twice rather than never.
      const places = await auditPlaces(this.#dir);
      const limits = { maxFiles: maxFilesBack, maxBytes: maxLastBytes };
      return { entries: await lastEntries(this.#dir, limit, filter, limits), places, isEnd: true };
    };
    return this.#turns.run(reader.namespace, read, reader.signal);
  }

  page(reader: PageReader, from: AuditPlaces, limit: number, filter: AuditFilter): Promise<AuditPage> {
    const read = () => auditPage(this.#dir, from, filter, { entries: limit, bytes: maxPageBytes });
    return this.#turns.run(reader.namespace, read, reader.signal);
  }

  follow(from: AuditPlaces, filter: AuditFilter, signal: AbortSignal): AsyncIterable<AuditEntry> {
    return followAudit(this.#dir, from, filter, signal);
  }

  /** Reads everything; whoever asks meanwhile gets the same answer. */
  verify(): Promise<AuditReport> {
    this.#verifying ??= verifyAudit(this.#dir).finally(() => {
      this.#verifying = undefined;
    });
    return this.#verifying;
  }

  cursor(places: AuditPlaces): string {
    return this.#cursors.seal(JSON.stringify([...places].map(([chain, { file, at }]) => [chain, file, at])));
  }

  placesOf(cursor: string): AuditPlaces {
    const text = this.#cursors.open(cursor);
    if (text === undefined) throw new CodecellError("usage", "`after` is not the `next` of a page");
    const places = cursorSchema.parse(JSON.parse(text));
    return new Map(places.map(([chain, file, at]): [string, AuditPlace] => [chain, { file, at }]));
  }
}
