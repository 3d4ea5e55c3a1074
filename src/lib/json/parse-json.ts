/** Limits of JSON from outside. */
export interface JsonLimits {
  /** how deep arrays and objects may be nested */
  readonly depth: number;
  /** keys of all objects together */
  readonly keys: number;
  /** elements and members of all arrays and objects together */
  readonly values: number;
  /** arrays and objects: the parser takes far longer for an empty one than for its two bytes */
  readonly containers: number;
}

/** JSON that is not accepted although it may be valid. */
export class JsonRefused extends Error {
  override readonly name = "JsonRefused";
}

const defaultJsonLimits: JsonLimits = { depth: 128, keys: 100_000, values: 2_000_000, containers: 200_000 };
const code = {
  ...{ quote: 0x22, comma: 0x2c, backslash: 0x5c },
  ...{ openList: 0x5b, closeList: 0x5d, openObject: 0x7b, closeObject: 0x7d },
} as const;

/**
 * Parses JSON from outside. The attacks: `JSON.parse` takes seconds for deep nesting, for a million keys and for a million empty
 * arrays, and blocks everybody meanwhile; and of two members with the same key it takes the last, where a proxy may have checked the first.
 */
export function parseJson(text: string, limits: JsonLimits = defaultJsonLimits): unknown {
  measureJson(text, limits);
  return JSON.parse(text);
}

/**
 * How many keys, values and containers it has together, which is what it takes in memory. Looks at brackets and keys only: text that is
 * not JSON is refused by the parser.
 */
export function measureJson(text: string, limits: JsonLimits = defaultJsonLimits): number {
  /** the keys of each open object; undefined for a list */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  let [keys, values, containers] = [0, 0, 0];
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at);
    if (character === code.quote) {
      const end = endOfString(text, at);
      const names = open.at(-1);
      if (isKeyNext && names) {
        if (++keys > limits.keys) throw new JsonRefused(`it has more than ${limits.keys} keys`);
        addKey(names, text.slice(at, end + 1));
      }
      isKeyNext = false;
      at = end;
    } else if (character === code.openObject || character === code.openList) {
      open.push(character === code.openObject ? new Set() : undefined);
      if (open.length > limits.depth) throw new JsonRefused(`it is nested more than ${limits.depth} levels deep`);
      if (++containers > limits.containers)
        throw new JsonRefused(`it has more than ${limits.containers} arrays and objects`);
      isKeyNext = character === code.openObject;
    } else if (character === code.closeObject || character === code.closeList) {
      open.pop();
      isKeyNext = false;
    } else if (character === code.comma) {
      if (++values > limits.values) throw new JsonRefused(`it has more than ${limits.values} values`);
      isKeyNext = open.at(-1) !== undefined;
    }
  }
  return keys + values + containers;
}

function addKey(names: Set<string>, written: string): void {
  const name = written.includes("\\") ? unescaped(written) : written.slice(1, -1);
  if (names.has(name))
    throw new JsonRefused(`it has the key ${JSON.stringify(name.slice(0, 100))} twice in one object`);
  names.add(name);
}

/** `"\u0061"` is the same key as `"a"`. */
function unescaped(written: string): string {
  try {
    return String(JSON.parse(written));
  } catch {
    return written; // not JSON, which the parser reports
  }
}

/** The position of the quote that ends a string, or the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === code.backslash) before--;
    if ((end - before) % 2 === 0) return end;
  }
  return text.length;
}
