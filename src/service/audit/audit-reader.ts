import { z } from "zod";
import { type AuditPlace, auditPlaces, followAudit } from "../../audit/follow.ts";
import { type AuditPage, type AuditPlaces, auditPage } from "../../audit/page.ts";
import { type AuditEntry, type AuditFilter, lastEntries } from "../../audit/read.ts";
import { type AuditReport, verifyAudit, verifyTenant } from "../../audit/verify.ts";
import { CodecellError } from "../../lib/errors.ts";
import { SealedText } from "../../lib/sealed-text.ts";
import { SerialQueues } from "../../lib/waiting/serial-queues.ts";

/** How many files of 16 MiB the search for the last events reads in each chain. */
const maxFilesBack = 4;
/** Limit of the last events: they contain code, and a page stays in memory until the client has read it. */
const maxLastBytes = 4 * 1024 * 1024;
/** How much one page reads, even if few events match: rare events then need more pages, not a slower request. */
const maxPageBytes = 16 * 1024 * 1024;

const cursorSchema = z.array(z.tuple([z.string(), z.int().min(1), z.int().min(0)])).max(10_000);

/** Who reads a page; `signal` aborts the read. */
export interface PageReader {
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Reads the audit page by page. Cursors are encrypted: offsets in the files would reveal how active other tenants are. */
export class AuditReader {
  readonly #dir: string;
  readonly #cursors: SealedText;
  /** One page at a time per tenant. The attack: a caller requests many pages at once and uses up memory and CPU. */
  readonly #turns = new SerialQueues();
  #verifying: Promise<AuditReport> | undefined;

  constructor(dir: string, secret: Uint8Array) {
    this.#dir = dir;
    this.#cursors = new SealedText(secret, "codecell audit cursor");
  }

  /** The last matching entries, and where to continue. */
  last(reader: PageReader, limit: number, filter: AuditFilter): Promise<AuditPage> {
    const read = async () => {
      // Read the positions first: an event written in between is then returned twice rather than never.
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

  /** Reads the whole audit. Concurrent calls share one verification. */
  verify(): Promise<AuditReport> {
    this.#verifying ??= verifyAudit(this.#dir).finally(() => {
      this.#verifying = undefined;
    });
    return this.#verifying;
  }

  /** Reads the chains that hold the events of one session: those of its tenant, and another one if its last event is there. */
  verifySession(key: string, reader: PageReader): Promise<AuditReport> {
    const read = async () => {
      const limits = { maxFiles: maxFilesBack, maxBytes: maxLastBytes };
      const [last] = await lastEntries(this.#dir, 1, { session: key }, limits);
      return verifyTenant(this.#dir, key.slice(0, key.indexOf(".")), last?.chain);
    };
    return this.#turns.run(reader.namespace, read, reader.signal);
  }

  cursor(places: AuditPlaces): string {
    return this.#cursors.seal(JSON.stringify([...places].map(([chain, { file, at }]) => [chain, file, at])));
  }

  placesOf(cursor: string): AuditPlaces {
    const text = this.#cursors.open(cursor);
    if (text === undefined)
      throw new CodecellError("usage", "`after` is not a valid cursor", {
        hint: "pass the `next` of a page",
      });
    const places = cursorSchema.parse(JSON.parse(text));
    return new Map(places.map(([chain, file, at]): [string, AuditPlace] => [chain, { file, at }]));
  }
}
