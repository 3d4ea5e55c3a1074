import { Action, next, State } from "./json-table.ts";

const firstAction = Action.openList;

/**
 * Checks that bytes are one JSON value, without creating anything of it. It takes them in parts of any size, so that a long text
 * never holds up the event loop, and its memory depends only on the depth that is allowed. It does not check that strings are UTF-8.
 */
export class JsonChecker {
  readonly #isObject: Uint8Array;
  #depth = 0;
  #state: number = State.value;

  constructor(maxDepth: number) {
    this.#isObject = new Uint8Array(maxDepth);
  }

  /** Reads the next part. Returns false as soon as the text cannot be JSON any more, or is nested too deeply. */
  push(bytes: Uint8Array): boolean {
    // Local variables, because a text of 16 MiB must not take longer than it needs.
    const [table, isObject, length] = [next, this.#isObject, bytes.length];
    let depth = this.#depth;
    let state = this.#state;
    for (let at = 0; at < length; at++) {
      const code = table[(state << 8) | (bytes[at] as number)] as number;
      if (code < firstAction) {
        // An invalid text stays invalid: no entry leads out of this state.
        state = code;
      } else if (code <= Action.openObject) {
        if (depth === isObject.length) state = State.invalid;
        else {
          isObject[depth++] = code - Action.openList;
          state = code === Action.openList ? State.valueOrEnd : State.keyOrEnd;
        }
      } else if (depth === 0) {
        state = State.invalid;
      } else if (code === Action.comma) {
        state = isObject[depth - 1] === 1 ? State.key : State.value;
      } else {
        state = isObject[--depth] === code - Action.closeList ? State.afterValue : State.invalid;
      }
    }
    this.#depth = depth;
    this.#state = state;
    return state !== State.invalid;
  }

  /** Whether everything so far is a complete value. */
  get isComplete(): boolean {
    return this.#depth === 0 && next[(this.#state << 8) | 0x20] === State.afterValue;
  }
}
