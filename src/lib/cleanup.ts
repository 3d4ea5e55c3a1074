/** Undoes steps, last first. A replacement for AsyncDisposableStack, which Node 20 lacks. */
export class Cleanup implements AsyncDisposable {
  #undo: (() => unknown)[] = [];
  #running: Promise<void> | undefined;

  /** Registers an undo; call it right after the step. */
  defer(undo: () => unknown): void {
    this.#undo.push(undo);
  }

  /** Moves everything registered so far to a new owner, which cleans up instead. */
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
