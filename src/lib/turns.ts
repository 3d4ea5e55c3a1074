import { CodecellError } from "./errors.ts";

/** Work of one caller goes one after the other, of several at the same time: who asks for much waits for itself. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  /** Whoever has left when the turn comes costs nothing more. */
  take<Answer>(caller: string, work: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    const answer = (this.#last.get(caller) ?? Promise.resolve()).then(() => {
      if (signal?.aborted) throw new CodecellError("aborted", "nobody waits for this any more");
      return work();
    });
    const over = answer.then(
      () => {},
      () => {},
    );
    this.#last.set(caller, over);
    void over.then(() => {
      if (this.#last.get(caller) === over) this.#last.delete(caller);
    });
    return answer;
  }
}
