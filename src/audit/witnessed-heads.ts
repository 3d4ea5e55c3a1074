import type { ChainHead } from "./event.ts";

/**
 * What one chain's writers saw of the others, all of it. The attack: to cut a chain and let it grow again, until whoever
 * looked before has looked once more: the last look alone fits the chain as it is, and the earlier ones tell.
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

  /** A chain that rests is seen as it is by everybody who comes; once is enough. */
  add(seen: readonly ChainHead[]): void {
    for (const head of seen) {
      const before = this.#latest.get(head.chain);
      if (before?.seq === head.seq && before.hash === head.hash) continue;
      this.#heads.push(head);
      this.#latest.set(head.chain, head);
    }
  }

  /** Forgets what came after the first so many. */
  cutTo(count: number): void {
    if (count >= this.#heads.length) return;
    this.#heads.length = count;
    this.#latest = new Map(this.#heads.map((head) => [head.chain, head]));
  }
}
