import { z } from "zod";
import { type AuditPlace, auditPlaces, followAudit } from "../../audit/follow.ts";
import { type AuditPage, type AuditPlaces, auditPage } from "../../audit/page.ts";
import { type AuditEntry, type AuditFilter, lastEntries } from "../../audit/read.ts";
import { type AuditReport, verifyAudit } from "../../audit/verify.ts";
import { CodecellError } from "../../lib/errors.ts";
import { SealedText } from "../../lib/sealed-text.ts";

/** Files of 16 MiB that the search for the last events goes back in each chain. */
const maxFilesBack = 4;
/** What one page reads at most, whatever fits: a rare kind of event comes in more pages, not in a longer answer. */
const maxPageBytes = 16 * 1024 * 1024;

const cursorSchema = z.array(z.tuple([z.string(), z.int().min(1), z.int().min(0)])).max(10_000);

/** The audit as callers page through it. Cursors are sealed: offsets in the files would tell how much others do. */
export class AuditReader {
  readonly #dir: string;
  readonly #cursors: SealedText;
  #verifying: Promise<AuditReport> | undefined;

  constructor(dir: string, secret: Uint8Array) {
    this.#dir = dir;
    this.#cursors = new SealedText(secret, "codecell audit cursor");
  }

  /** The last entries that fit, and where to go on from. */
  async last(limit: number, filter: AuditFilter): Promise<AuditPage> {
    // Before the entries: what comes in between is given twice rather than never.
    const places = await auditPlaces(this.#dir);
    const entries = await lastEntries(this.#dir, limit, filter, { maxFiles: maxFilesBack });
    return { entries, places, isEnd: true };
  }

  page(from: AuditPlaces, limit: number, filter: AuditFilter): Promise<AuditPage> {
    return auditPage(this.#dir, from, filter, { entries: limit, bytes: maxPageBytes });
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
