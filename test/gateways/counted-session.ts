import { randomUUID } from "node:crypto";
import type { Answer } from "../support/http-service.ts";
import { type GatewayProcess, tried, untilAnswered } from "./gateway-process.ts";

/**
 * A session whose one variable counts its runs, and what its client was told. If two gateways had it at the same time, or one lost an
 * acknowledged save, a number would come twice or would be missing without a note.
 */
export class CountedSession {
  readonly id: string;
  readonly #problems: string[];
  /** the last number that a result told; the number that a save was acknowledged for */
  #told = 0;
  #saved = 0;
  /** a run was cut off: it may have counted, or not */
  #isUnsure = false;
  readonly counts = { told: 0, saved: 0, adopted: 0, broken: 0, unknown: 0 };

  constructor(id: string, problems: string[]) {
    this.id = id;
    this.#problems = problems;
  }

  async create(at: GatewayProcess): Promise<void> {
    await untilAnswered(() => at.client.call("POST", "/v1/sessions", { session_id: this.id }));
    await untilAnswered(() => at.client.run(this.id, "n = 0"));
    await this.save(at);
  }

  /** Counts once, and asks until there is an answer: for the same run, or that nobody knows how it ended. Then it is another run. */
  async count(at: () => GatewayProcess, code = ""): Promise<void> {
    const body = { code: `${code}\nn += 1\nn`, wait: 30 };
    const askFor = (key: string) => () =>
      at().client.call("POST", `/v1/sessions/${this.id}/runs`, body, { "idempotency-key": key });
    const ask = askFor(randomUUID());
    const first = await tried(ask());
    if (first?.status === 200) return this.#check(first);
    this.counts.broken++;
    this.#isUnsure = true;
    const again = await untilAnswered(ask);
    if (again.json.error?.code !== "run_gone") return this.#check(again);
    this.counts.unknown++;
    this.#check(await untilAnswered(askFor(randomUUID())));
  }

  async save(at: GatewayProcess): Promise<void> {
    const before = this.#told;
    const answer = await tried(at.client.call("POST", `/v1/sessions/${this.id}/save`));
    if (answer?.status !== 200) return;
    this.counts.saved++;
    this.#saved = before;
  }

  #check({ status, json, text }: Answer): void {
    if (status !== 200) return void this.#problems.push(`${this.id}: ${status} ${text}`);
    const number = Number(json.value);
    const notes = json.notes.join("; ");
    const isAdopted = /was open on gateway g-\w+, which was lost/.test(notes);
    if (isAdopted) this.counts.adopted++;
    // Without a note nothing may be missing. A run that was cut off may have counted before.
    const least = isAdopted ? this.#saved + 1 : this.#told + 1;
    const most = this.#told + (this.#isUnsure ? 2 : 1);
    if (number < least || number > most) {
      this.#problems.push(`${this.id}: told ${number} after ${this.#told}, saved ${this.#saved}; notes: ${notes}`);
    }
    this.#told = number;
    // What was restored is at most what was saved: from here on the saved number is the one before this run, if it was adopted.
    if (isAdopted) this.#saved = Math.min(this.#saved, number);
    this.#isUnsure = false;
    this.counts.told++;
  }
}
