/** Creates one value per key. A failure is forgotten, and the next call tries again. */
export class PromiseCache<Value> {
  readonly #made = new Map<string, Promise<Value>>();

  get(key: string, make: () => Promise<Value>): Promise<Value> {
    const known = this.#made.get(key);
    if (known) return known;
    const making = make();
    this.#made.set(key, making);
    making.catch(() => this.#made.delete(key));
    return making;
  }

  /** Forgets this value. A newer one that another caller has started to create stays. */
  forget(key: string, made: Promise<Value>): void {
    if (this.#made.get(key) === made) this.#made.delete(key);
  }
}
