import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  decodeCompletions,
  decodeFileList,
  decodeInspection,
  decodeRestoreFailures,
  decodeVariables,
} from "../src/kernel/cell-json.ts";
import { FrameDecoder } from "../src/kernel/frames.ts";
import { parsePreview } from "../src/kernel/value-preview.ts";
import { FunctionTable } from "../src/sessions/functions/function-table.ts";
import { readManifest } from "../src/sessions/storage/snapshot-manifest.ts";
import { FakeRandom } from "./fakes/fake-random.ts";

const MiB = 2 ** 20;

/** What the parser has to create for a text: arrays, objects, elements and members. Its time and memory follow from this. */
let parsedNodes = 0;
let parsedTexts = 0;
const parse = JSON.parse;
beforeEach(() => {
  parsedNodes = 0;
  parsedTexts = 0;
  vi.spyOn(JSON, "parse").mockImplementation((text: string, reviver) => {
    parsedTexts++;
    parsedNodes += text.match(/[[{,]/g)?.length ?? 0;
    return parse(text, reviver);
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Hostile JSON of about `bytes` bytes. */
const shapes: Readonly<Record<string, (bytes: number) => string>> = {
  "deep nesting": (bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
  "nesting below a depth limit, many times": (bytes) => `[${"[[[]]],".repeat(bytes / 7)}0]`,
  "empty objects": (bytes) => `[${"{},".repeat(bytes / 3)}0]`,
  "single digits": (bytes) => `[${"0,".repeat(bytes / 2)}0]`,
  "short keys": (bytes) => `[{${Array.from({ length: bytes / 11 }, (_, at) => `"k${at}":0`).join(",")}}]`,
  "a random mixture": (bytes) => `[${randomJson(bytes).join(",")}]`,
};

/** The beginning of the same random values, for every size. */
function randomJson(bytes: number): string[] {
  const chosen: string[] = [];
  for (let size = 0; size < bytes; size += (chosen.at(-1) as string).length + 1) {
    chosen.push(nextRandom(chosen.length));
  }
  return chosen;
}

function randomValues(): (at: number) => string {
  const random = new FakeRandom(17);
  const several = (make: (at: number) => string) =>
    Array.from({ length: random.below(4) }, (_, at) => make(at)).join(",");
  const value = (depth: number): string => {
    const kind = random.below(depth > 4 ? 3 : 5);
    if (kind === 3) return `[${several(() => value(depth + 1))}]`;
    if (kind === 4) return `{${several((at) => `"${at}":${value(depth + 1)}`)}}`;
    return ["0", '"\\"[{,"', "null"][kind] as string;
  };
  const values: string[] = [];
  return (at) => {
    while (values.length <= at) values.push(value(0));
    return values[at] as string;
  };
}
const nextRandom = randomValues();

function frame(header: string): Buffer {
  const text = Buffer.from(header);
  const prefix = Buffer.alloc(8);
  prefix.writeUInt32LE(4 + text.length, 0);
  prefix.writeUInt32LE(text.length, 4);
  return Buffer.concat([prefix, text]);
}

function entry(header: string): Buffer {
  const text = Buffer.from(header);
  const prefix = Buffer.alloc(12);
  prefix.writeUInt32LE(text.length, 0);
  return Buffer.concat([prefix, text]);
}

/** `nodes`: the most that may be parsed, of `bytes` bytes or any other size. */
const decoders: Readonly<
  Record<string, { bytes: number; nodes: number; decode: (json: string) => unknown | Promise<unknown> }>
> = {
  "a list of variables": { bytes: 2 * MiB, nodes: 150_000, decode: (json) => decodeVariables(Buffer.from(json)) },
  "a list of files": { bytes: 2 * MiB, nodes: 150_000, decode: (json) => decodeFileList(Buffer.from(json)) },
  "a report on a restored snapshot": {
    ...{ bytes: 2 * MiB, nodes: 150_000, decode: (json) => decodeRestoreFailures(Buffer.from(json)) },
  },
  "a list of completions": { bytes: 2 * MiB, nodes: 150_000, decode: (json) => decodeCompletions(Buffer.from(json)) },
  "the description of a name": { bytes: MiB, nodes: 150_000, decode: (json) => decodeInspection(Buffer.from(json)) },
  "the header of a frame": {
    ...{ bytes: 256 * 1024 - 64, nodes: 12_000, decode: (json) => new FrameDecoder().push(frame(json), () => {}) },
  },
  "the header of a preview": { bytes: MiB, nodes: 200, decode: (json) => parsePreview(Buffer.from(`${json}\n`)) },
  "the header of a saved variable": { bytes: 60 * 1024, nodes: 100, decode: (json) => readManifest(entry(json)) },
  "the arguments of a host function": {
    ...{ bytes: 4 * MiB, nodes: 600_000 },
    decode: (json) =>
      functions.answer({
        ...{ run: 1, call: 1, name: "join", signal: new AbortController().signal },
        arguments: Buffer.from(json),
      }),
  },
};

const functions = new FunctionTable(
  {
    join: {
      description: "joins words",
      input: { type: "object", properties: { words: { type: "array", items: { type: "string" } } } },
      call: async () => "",
    },
  },
  {
    id: () => "s",
    runNumber: (run) => run,
    fork: () => Promise.reject(new Error("no fork")),
    record() {},
  },
);

describe.each(Object.entries(decoders))("%s from a cell", (_name, { bytes, nodes, decode }) => {
  test.each(Object.entries(shapes))("with %s is rejected before the parser builds it", async (_shape, make) => {
    const json = make(bytes);
    await expect(async () => decode(json)).rejects.toThrow();
    expect(parsedNodes).toBeLessThanOrEqual(nodes);
  });
});

describe("a snapshot from a cell", () => {
  test("with a million variables is read only as far as its list of names goes", () => {
    const one = entry('{"name":"x"}');
    const data = Buffer.alloc(one.length * 1_000_000, one);
    expect(readManifest(data).saved).toHaveLength(5_000);
    expect(parsedTexts).toBe(5_000);
  });

  test("with long names is listed only as far as a record has room: it could never be opened again otherwise", () => {
    const one = entry(JSON.stringify({ name: "\u0001".repeat(200), skipped: "\u0001".repeat(300) }));
    const { skipped } = readManifest(Buffer.alloc(one.length * 2_000, one));
    expect(Buffer.byteLength(JSON.stringify(skipped))).toBeLessThan(3 * MiB);
  });

  test("with many long headers is rejected before all of them are parsed", () => {
    const one = entry(`{"name":"x","type":"${"y".repeat(60_000)}"}`);
    expect(() => readManifest(Buffer.alloc(one.length * 1_000, one))).toThrow(/snapshot that cannot be read/);
    expect(parsedTexts).toBeLessThan(200);
  });
});

describe("the largest honest output of a cell", () => {
  const times = <Value>(count: number, make: (at: number) => Value) =>
    Array.from({ length: count }, (_, at) => make(at));

  test("is decoded", () => {
    const variables = times(10_000, (at) => ({ name: `v${at}`, type: "int", size: 28, summary: "[{,}]" }));
    expect(decodeVariables(Buffer.from(JSON.stringify(variables)))).toEqual(variables);
    const files = times(10_000, (at) => ({ path: `f${at}`, size: 1, modifiedMs: 1 }));
    const list = { files, next: "f", leftOut: 0, truncated: true };
    expect(decodeFileList(Buffer.from(JSON.stringify(list)))).toEqual(list);
    const failures = times(10_000, (at) => ({ name: `v${at}`, reason: "it cannot be pickled" }));
    expect(decodeRestoreFailures(Buffer.from(JSON.stringify(failures)))).toEqual(failures);
    const completions = { matches: times(1_000, (at) => ({ text: `v${at}`, kind: "value" })), truncated: true };
    expect(decodeCompletions(Buffer.from(JSON.stringify(completions)))).toEqual(completions);
    const inspected = { name: "x", type: "int", doc: "\u{1f600}".repeat(20_000), truncated: true };
    expect(decodeInspection(Buffer.from(JSON.stringify(inspected)))).toEqual(inspected);
    const done = { t: "done", id: 1, notes: times(32, String), files: files.slice(0, 1_000) };
    const headers: unknown[] = [];
    new FrameDecoder().push(frame(JSON.stringify(done)), ({ header }) => headers.push(header));
    expect(headers).toEqual([done]);
  });
});

test("a call of a host function with thousands of wrong arguments is refused with a short message", async () => {
  const json = JSON.stringify({ words: Array.from({ length: 5_000 }, () => 0) });
  const call = { run: 1, call: 1, name: "join", signal: new AbortController().signal, arguments: Buffer.from(json) };
  const error = await functions.answer(call).catch((caught: Error) => caught.message);
  expect(error).toMatch(/words\.0: .*; and at least 92 more$/);
});
