import type { AttackResult, AttackTier } from "../../../attacks/attack.ts";
import { safeText } from "../format/text/safe-text.ts";
import type { Output } from "../shell/terminal.ts";

/** Says on stderr what is going on: one line that changes on a terminal, a line per tier elsewhere. Harm is said at once. */
export class AttackProgress {
  readonly #stderr: Output;
  readonly #total: number;
  #done = 0;

  constructor(stderr: Output, total: number) {
    this.#stderr = stderr;
    this.#total = total;
  }

  begin(tier: AttackTier): void {
    this.#done = 0;
    this.#line(`attacking ${tier} …`);
  }

  result({ attack, tier, verdict, detail }: AttackResult): void {
    this.#done++;
    if (verdict === "harmed" || verdict === "failed") {
      this.#clear();
      this.#line(`${tier}: ${attack.id} ${verdict}: ${safeText(detail)}`);
    } else if (this.#stderr.isTTY) {
      const text = `codecell: ${tier} ${Math.min(this.#done, this.#total)}/${this.#total} ${attack.id}`;
      this.#clear();
      this.#stderr.write(text.slice(0, this.#stderr.columns - 1));
    }
  }

  end(tier: AttackTier, durationMs: number): void {
    this.#clear();
    this.#line(`${tier} took ${(durationMs / 1000).toFixed(1)} s`);
  }

  #line(text: string): void {
    this.#stderr.write(`codecell: ${text}\n`);
  }

  #clear(): void {
    if (this.#stderr.isTTY) this.#stderr.write("\r\u001b[K");
  }
}
