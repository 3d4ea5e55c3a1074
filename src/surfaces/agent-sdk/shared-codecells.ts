import type { Codecell } from "../../sessions/codecell.ts";

/** A codecell that several queries may use. Disposing gives it back; the last one closes it. */
export interface BorrowedCodecell extends AsyncDisposable {
  readonly codecell: Codecell;
}

interface Shared {
  readonly opening: Promise<Codecell>;
  users: number;
}

/** Codecells that are open while at least one query uses them, one per key. */
export class SharedCodecells {
  readonly #shared = new Map<string, Shared>();

  /** How many are open or opening. */
  get size(): number {
    return this.#shared.size;
  }

  async borrow(key: string, open: () => Promise<Codecell>): Promise<BorrowedCodecell> {
    const known = this.#shared.get(key);
    const shared = known ?? { opening: open(), users: 0 };
    this.#shared.set(key, shared);
    shared.users++;
    const giveBack = once(() => this.#giveBack(key, shared));
    try {
      return { codecell: await shared.opening, [Symbol.asyncDispose]: giveBack };
    } catch (error) {
      await giveBack();
      throw error;
    }
  }

  async #giveBack(key: string, shared: Shared): Promise<void> {
    shared.users--;
    if (shared.users > 0) return;
    if (this.#shared.get(key) === shared) this.#shared.delete(key); // the next query opens another one
    const codecell = await shared.opening.catch(() => undefined);
    await codecell?.close();
  }
}

function once(action: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => {
    done ??= action();
    return done;
  };
}
