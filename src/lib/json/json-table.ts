/** What may come next in a JSON text. Strings, literals and numbers have the states of their grammar. */
export const State = {
  ...{ invalid: 0, value: 1, valueOrEnd: 2, key: 3, keyOrEnd: 4, colon: 5, afterValue: 6 },
  ...{ minus: 7, zero: 8, integer: 9, point: 10, fraction: 11, exponent: 12, exponentSign: 13, exponentDigits: 14 },
  ...{ text: 15, name: 21, literals: 27 },
} as const;

/** Entries of the table that are more than a state: they depend on what is open. */
export const Action = { openList: 64, openObject: 65, closeList: 66, closeObject: 67, comma: 68 } as const;

const space = " \t\r\n";
const digits = "0123456789";

/** For each state and byte the next state, or an action. Whatever is not in it is not JSON. */
export const next = tableOf();

function tableOf(): Uint8Array {
  const table = new Uint8Array(Action.openList << 8);
  const set = (state: number, bytes: string, entry: number) => {
    for (const byte of Buffer.from(bytes, "latin1")) table[(state << 8) | byte] = entry;
  };
  const ending = [State.afterValue, State.zero, State.integer, State.fraction, State.exponentDigits];
  for (const state of [State.value, State.valueOrEnd, State.key, State.keyOrEnd, State.colon]) set(state, space, state);
  for (const state of ending) {
    set(state, space, State.afterValue);
    set(state, ",", Action.comma);
    set(state, "]", Action.closeList);
    set(state, "}", Action.closeObject);
  }
  set(State.colon, ":", State.value);
  for (const state of [State.key, State.keyOrEnd]) set(state, '"', State.name);
  set(State.keyOrEnd, "}", Action.closeObject);
  set(State.valueOrEnd, "]", Action.closeList);
  setString(set, State.text, State.afterValue);
  setString(set, State.name, State.colon);
  const starts = setLiterals(set);
  for (const state of [State.value, State.valueOrEnd]) {
    set(state, '"', State.text);
    set(state, "[", Action.openList);
    set(state, "{", Action.openObject);
    set(state, "-", State.minus);
    for (const [letter, start] of starts) set(state, letter, start);
  }
  setNumbers(set);
  return table;
}

type Set = (state: number, bytes: string, entry: number) => void;

/** A string has six states: its text, after a backslash, and four digits of a `\u` escape. */
function setString(set: Set, text: number, after: number): void {
  for (let byte = 0x20; byte < 0x100; byte++) set(text, String.fromCharCode(byte), text);
  set(text, '"', after);
  set(text, "\\", text + 1);
  set(text + 1, '"\\/bfnrt', text);
  set(text + 1, "u", text + 2);
  for (let digit = 2; digit <= 5; digit++)
    set(text + digit, `${digits}abcdefABCDEF`, digit < 5 ? text + digit + 1 : text);
}

/** A state for each letter after the first. Returns the first letters with the state that follows. */
function setLiterals(set: Set): Map<string, number> {
  const starts = new Map<string, number>();
  let state: number = State.literals;
  for (const [first = "", ...rest] of ["true", "false", "null"]) {
    starts.set(first, state);
    for (const [at, letter] of rest.entries()) set(state++, letter, at < rest.length - 1 ? state : State.afterValue);
  }
  return starts;
}

function setNumbers(set: Set): void {
  for (const state of [State.value, State.valueOrEnd, State.minus]) {
    set(state, digits, State.integer);
    set(state, "0", State.zero);
  }
  set(State.integer, digits, State.integer);
  for (const state of [State.zero, State.integer]) set(state, ".", State.point);
  for (const state of [State.point, State.fraction]) set(state, digits, State.fraction);
  for (const state of [State.zero, State.integer, State.fraction]) set(state, "eE", State.exponent);
  set(State.exponent, "+-", State.exponentSign);
  for (const state of [State.exponent, State.exponentSign, State.exponentDigits])
    set(state, digits, State.exponentDigits);
}
