import type { ChainHead } from "./event.ts";

/**
 * All heads of other chains that one chain's writers saw. The attack: truncating a chain and letting it grow until the witness
 * has seen it again. The last head alone would then match, so earlier ones are kept too.
 */
export class WitnessedHeads {
  #heads: ChainHead[] = [];
  #latest = new Map<string, ChainHead>();

  get count(): number {
    return this.#heads.length;
  }

  get all(): readonly ChainHead[] {
    return this.#heads;
  }

  /** An idle chain is seen unchanged by every writer; keep its head once. */
  add(seen: readonly ChainHead[]): void {
    for (const head of seen) {
      const before = this.#latest.get(head.chain);
      if (before?.seq === head.seq && before.hash === head.hash) continue;
      this.#heads.push(head);
      this.#latest.set(head.chain, head);
    }
  }

  /** Forgets all but the first `count` heads. */
  cutTo(count: number): void {
    if (count >= this.#heads.length) return;
    this.#heads.length = count;
    this.#latest = new Map(this.#heads.map((head) => [head.chain, head]));
  }
}
