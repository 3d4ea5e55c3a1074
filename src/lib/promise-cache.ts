/** What is made once for each key, whoever asks first; a failure is forgotten, and the next one tries again. */
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

  /** What was made is not there any more; what somebody else has begun to make meanwhile stays. */
  forget(key: string, made: Promise<Value>): void {
    if (this.#made.get(key) === made) this.#made.delete(key);
  }
}
