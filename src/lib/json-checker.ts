/** What may come next in a JSON text. Numbers have the states of their grammar. */
const State = {
  ...{ value: 0, valueOrEnd: 1, key: 2, keyOrEnd: 3, colon: 4, afterValue: 5 },
  ...{ string: 6, escape: 7, hex: 8, literal: 9 },
  ...{ minus: 10, zero: 11, integer: 12, point: 13, fraction: 14, exponent: 15, exponentSign: 16, exponentDigits: 17 },
} as const;
type StateName = (typeof State)[keyof typeof State];

const literals: Readonly<Record<number, Buffer>> = {
  116: Buffer.from("true"),
  102: Buffer.from("false"),
  110: Buffer.from("null"),
};
const escapes = new Set(Buffer.from('"\\/bfnrt'));

/**
 * Checks that bytes are one JSON value, without creating anything of it. It takes them in parts of any size, so that a long text
 * never holds up the event loop, and its memory depends only on the depth that is allowed. It does not check that strings are UTF-8.
 */
export class JsonChecker {
  readonly #isObject: Uint8Array;
  #depth = 0;
  #state: StateName = State.value;
  #isKey = false;
  #literal: Buffer = Buffer.alloc(0);
  /** how much of a literal or of a `\u` escape was read */
  #progress = 0;
  #isInvalid = false;

  constructor(maxDepth: number) {
    this.#isObject = new Uint8Array(maxDepth);
  }

  /** Reads the next part. Returns false as soon as the text cannot be JSON any more, or is nested too deeply. */
  push(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length && !this.#isInvalid; at++) {
      if (this.#state === State.string) at = this.#skipText(bytes, at);
      if (at < bytes.length) this.#isInvalid = !this.#take(bytes[at] as number);
    }
    return !this.#isInvalid;
  }

  /** Whether everything so far is a complete value. */
  get isComplete(): boolean {
    return !this.#isInvalid && this.#depth === 0 && (this.#state === State.afterValue || endsNumber(this.#state));
  }

  /** The position of the first byte that may end a string or begin an escape. */
  #skipText(bytes: Uint8Array, start: number): number {
    let at = start;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte === 0x22 || byte === 0x5c || byte < 0x20) break;
    }
    return at;
  }

  #take(byte: number): boolean {
    const state = this.#state;
    if (state >= State.minus) return this.#takeNumber(byte);
    switch (state) {
      case State.string:
        if (byte === 0x22) return this.#go(this.#isKey ? State.colon : State.afterValue);
        return byte === 0x5c && this.#go(State.escape);
      case State.escape:
        this.#progress = 0;
        return byte === 0x75 ? this.#go(State.hex) : escapes.has(byte) && this.#go(State.string);
      case State.hex:
        return isHex(byte) && (++this.#progress < 4 || this.#go(State.string));
      case State.literal:
        if (byte !== this.#literal[this.#progress]) return false;
        return ++this.#progress < this.#literal.length || this.#go(State.afterValue);
    }
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) return true;
    switch (state) {
      case State.afterValue:
        return this.#takeAfterValue(byte);
      case State.colon:
        return byte === 0x3a && this.#go(State.value);
      case State.keyOrEnd:
        return byte === 0x7d ? this.#close() : this.#startKey(byte);
      case State.key:
        return this.#startKey(byte);
      default:
        return state === State.valueOrEnd && byte === 0x5d ? this.#close() : this.#startValue(byte);
    }
  }

  #takeAfterValue(byte: number): boolean {
    if (this.#depth === 0) return false;
    const isObject = this.#isObject[this.#depth - 1] === 1;
    if (byte === 0x2c) return this.#go(isObject ? State.key : State.value);
    return byte === (isObject ? 0x7d : 0x5d) && this.#close();
  }

  #startKey(byte: number): boolean {
    this.#isKey = true;
    return byte === 0x22 && this.#go(State.string);
  }

  #startValue(byte: number): boolean {
    if (byte === 0x22) {
      this.#isKey = false;
      return this.#go(State.string);
    }
    if (byte === 0x7b || byte === 0x5b) {
      if (this.#depth === this.#isObject.length) return false;
      this.#isObject[this.#depth++] = byte === 0x7b ? 1 : 0;
      return this.#go(byte === 0x7b ? State.keyOrEnd : State.valueOrEnd);
    }
    if (byte === 0x2d) return this.#go(State.minus);
    if (isDigit(byte)) return this.#go(byte === 0x30 ? State.zero : State.integer);
    const literal = literals[byte];
    if (literal === undefined) return false;
    this.#literal = literal;
    this.#progress = 1;
    return this.#go(State.literal);
  }

  #takeNumber(byte: number): boolean {
    const state = this.#state;
    const isExponent = byte === 0x65 || byte === 0x45;
    if (isDigit(byte)) {
      if (state === State.minus) return this.#go(byte === 0x30 ? State.zero : State.integer);
      if (state === State.point) return this.#go(State.fraction);
      if (state === State.exponent || state === State.exponentSign) return this.#go(State.exponentDigits);
      return state !== State.zero;
    }
    if (state === State.exponent) return (byte === 0x2b || byte === 0x2d) && this.#go(State.exponentSign);
    if (byte === 0x2e && (state === State.zero || state === State.integer)) return this.#go(State.point);
    if (isExponent && (state === State.zero || state === State.integer || state === State.fraction))
      return this.#go(State.exponent);
    if (!endsNumber(state)) return false;
    this.#state = State.afterValue;
    return this.#take(byte);
  }

  #close(): boolean {
    this.#depth--;
    return this.#go(State.afterValue);
  }

  #go(state: StateName): true {
    this.#state = state;
    return true;
  }
}

function endsNumber(state: StateName): boolean {
  return state === State.zero || state === State.integer || state === State.fraction || state === State.exponentDigits;
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x61 && byte <= 0x66) || (byte >= 0x41 && byte <= 0x46);
}
