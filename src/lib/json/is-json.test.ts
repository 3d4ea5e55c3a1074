import { expect, test } from "vitest";
import { FakeRandom } from "../../../test/fakes/fake-random.ts";
import { isThorough } from "../../../test/support/thorough.ts";
import { isJson } from "./is-json.ts";
import { JsonChecker } from "./json-checker.ts";

const seeds = [
  '{"a":[1,-0.5e+10,true,false,null],"b\\n\\u00e9":{"c":"\\\\\\""}} ',
  '[[],{},"",0,-1,1e5,1E-5,0.25]',
  ' \t\r\n"text é 🐍"',
  "-120",
  "null",
];
const alphabet = '{}[]",:\\/0123456789-+.eEtrufalsn \n\u0001é';

function isValid(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** As `isJson`, with the text in parts of one byte. */
function byteByByte(bytes: Buffer): boolean {
  const checker = new JsonChecker(100);
  for (const byte of bytes) checker.push(Buffer.of(byte));
  return checker.isComplete;
}

test("JSON that is checked without parsing is valid exactly if JSON.parse accepts it", async () => {
  const random = new FakeRandom(5);
  const answers = { true: 0, false: 0 };
  const rounds = isThorough ? 20_000 : 4_000;
  for (let round = 0; round < rounds; round++) {
    const characters = [...(seeds[round % seeds.length] as string)];
    for (let changes = random.below(4); changes > 0; changes--) {
      const [at, removed] = [random.below(characters.length + 1), random.below(3)];
      characters.splice(at, removed, ...(random.below(2) === 0 ? [] : [[...alphabet][random.below(40)] ?? ""]));
    }
    const text = characters.join("");
    const expected = isValid(text);
    answers[`${expected}`]++;
    const bytes = Buffer.from(text);
    expect([text, await isJson(bytes, { maxDepth: 100 }), byteByByte(bytes)]).toEqual([text, expected, expected]);
  }
  expect(Math.min(answers.true, answers.false)).toBeGreaterThan(rounds / 20);
});

test("JSON that is nested deeper than the limit, or is not UTF-8, is not accepted", async () => {
  const nested = (depth: number) => Buffer.from("[".repeat(depth) + "]".repeat(depth));
  expect(await isJson(nested(100), { maxDepth: 100 })).toBe(true);
  expect(await isJson(nested(101), { maxDepth: 100 })).toBe(false);
  expect(await isJson(Buffer.from([0x22, 0xff, 0x22]), { maxDepth: 100 })).toBe(false);
});

test("a long JSON text is checked in parts, between which others get their turn", async () => {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  expect(await isJson(Buffer.from(`[${"[],".repeat(2 ** 20)}0]`), { maxDepth: 100 })).toBe(true);
  isDone = true;
  expect(turns).toBeGreaterThan(10);
});
