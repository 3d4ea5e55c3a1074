import { CodecellError } from "../errors.ts";

const minDigits = 16;
const manyDigits = /\d{16}/;
const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** An integer in JSON text that a JavaScript number would silently round, such as an identifier of 64 bits. */
export function inexactInteger(json: string): string | undefined {
  if (!manyDigits.test(json)) return undefined;
  for (let at = 0; at < json.length; at++) {
    const character = json[at] as string;
    if (character === '"') {
      at = endOfString(json, at);
      continue;
    }
    if (character !== "-" && !(character >= "0" && character <= "9")) continue;
    number.lastIndex = at;
    const [found = character] = number.exec(json) ?? [];
    if (found.length >= minDigits && /^-?\d+$/.test(found) && !Number.isSafeInteger(Number(found))) return found;
    at += found.length - 1;
  }
  return undefined;
}

/** Throws for a value of a cell that JavaScript cannot hold exactly: a wrong number looks like a right one. */
export function assertExactIntegers(json: string): void {
  const rounded = inexactInteger(json);
  if (rounded === undefined) return;
  const message = `the value has the integer ${rounded.slice(0, 40)}, which JavaScript would round`;
  const hint = "read it as text: str(x) in Python";
  throw new CodecellError("variable_unserializable", message, { hint });
}

/** The position of the quote that ends the string which starts at `start`. */
function endOfString(json: string, start: number): number {
  for (let at = json.indexOf('"', start + 1); at !== -1; at = json.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (json[at - 1 - backslashes] === "\\") backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return json.length;
}
