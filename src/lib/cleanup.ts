/** Undoes what was done, last first. Node 20 has no AsyncDisposableStack; this is ours. */
export class Cleanup implements AsyncDisposable {
  #undo: (() => unknown)[] = [];
  #running: Promise<void> | undefined;

  /** Registers an undo; call it on the line after the do. */
  defer(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  /** Takes over everything registered so far and empties this one: the new owner cleans up now. */
  move(): Cleanup {
    const owner = new Cleanup();
    owner.#undo = this.#undo;
    this.#undo = [];
    return owner;
  }

  /** Runs every undo even when one fails, then throws the first failure. Disposing twice is safe. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    let failure: { error: unknown } | undefined;
    for (let undo = this.#undo.pop(); undo; undo = this.#undo.pop()) {
      try {
        await undo();
      } catch (error) {
        failure ??= { error };
      }
    }
    if (failure) throw failure.error;
  }
}
