import { hostname } from "node:os";
import { resolve } from "node:path";
import { listChains, readHead } from "../../audit/chain/chain-files.ts";
import type { ChainHead } from "../../audit/event.ts";
import { messageOf } from "../../lib/errors.ts";
import type { Logger } from "../../lib/log/logger.ts";
import { SerialQueue } from "../../lib/waiting/serial-queue.ts";
import { AuditHeadRows } from "../../store/postgres/audit-head-rows.ts";
import type { Database } from "../../store/postgres/database.ts";

/** So much of an audit can be removed without a trace in the database, at most. */
const everyMs = 10_000;

/** Names the audit of a state directory of this machine. In a pod, the name of the host is that of the pod. */
export function auditPlace(stateDir: string): string {
  return `${hostname()}:${resolve(stateDir)}`.slice(0, 500);
}

/** Writes the heads of a gateway's audit to the database, where who changes its files cannot change them. */
export class KeptHeads implements AsyncDisposable {
  readonly #dir: string;
  readonly #place: string;
  readonly #rows: AuditHeadRows;
  readonly #logger: Logger;
  readonly #queue = new SerialQueue();
  readonly #sent = new Map<string, string>();
  readonly #timer: NodeJS.Timeout;

  /** `dir`: the directory of the audit */
  constructor(dir: string, place: string, database: Database, logger: Logger) {
    this.#dir = dir;
    this.#place = place;
    this.#rows = new AuditHeadRows(database);
    this.#logger = logger;
    this.#timer = setInterval(() => void this.keep(), everyMs).unref();
  }

  /** Writes the heads that changed. What cannot be written now is written the next time. */
  async keep(): Promise<void> {
    await this.#queue
      .run(async () => {
        const heads = (await headsIn(this.#dir)).filter(({ chain, hash }) => this.#sent.get(chain) !== hash);
        await this.#rows.add(this.#place, heads);
        for (const { chain, hash } of heads) this.#sent.set(chain, hash);
      })
      .catch((error: unknown) => {
        this.#logger.warn("the heads of the audit are not in the database", { error: messageOf(error) });
      });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    await this.keep();
  }
}

/** The heads that the database has for the audit of this state directory, for `audit verify`. */
export async function keptHeads(dir: string, place: string, database: Database): Promise<readonly ChainHead[]> {
  return new AuditHeadRows(database).list(place, await listChains(dir));
}

async function headsIn(dir: string): Promise<ChainHead[]> {
  const heads: ChainHead[] = [];
  for (const chain of await listChains(dir)) {
    const head = await readHead(dir, chain);
    if (typeof head === "object" && head.seq > 0) heads.push(head);
  }
  return heads;
}
