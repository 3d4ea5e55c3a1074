import { describe, expect, test } from "vitest";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { CodecellError } from "../lib/errors.ts";
import { mergePolicy } from "./change/merge.ts";
import { parsePolicy } from "./file/parse-policy.ts";
import { parsePolicyText } from "./file/parse-policy-text.ts";
import { maxPolicyBytes } from "./file/problem.ts";

/** Accepts success or our own error, nothing else. */
function onlyOurErrors(action: () => unknown): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof CodecellError)) throw error;
    expect(error.message.length).toBeLessThan(20_000);
    expect(error.message).not.toMatch(/\n\s+at /);
  }
}

function parse(text: string | Uint8Array): void {
  onlyOurErrors(() => parsePolicyText(text, { file: "p", baseDir: "/srv", homeDir: "/home/someone" }));
}

describe("the policy parser", () => {
  const fill = (text: string) => text.repeat(Math.floor(maxPolicyBytes / text.length));
  test.each([
    ...[
      "[",
      "{a: ",
      "- ",
      "? ",
      "a: ",
      "&a ",
      "!",
      "!a ",
      "*a ",
      "%a\n",
      "---\n",
      "-\n",
      ",",
      "}",
      ": ",
      "'",
      '"',
      "|\n",
    ],
    ..."\t|\n|\r\n|#\n|@|- a: b\n  c: [d, {e: f}]\n".split("|"),
  ])("is quick on a file full of %j", async (text) => {
    expect(await cpuMsOf(() => parse(fill(text)))).toBeLessThan(2000);
  });

  test("is quick on thousands of keys, mounts and unknown rules", async () => {
    const spentMs = await cpuMsOf(() => {
      parse(Array.from({ length: 10_000 }, (_, index) => `k${index}: 1`).join("\n"));
      parse(`fs:\n  mounts:\n${"    - { sourc: 1 }\n".repeat(5000)}`);
      parse(`env:\n${Array.from({ length: 9000 }, (_, index) => `  ${index}: 1`).join("\n")}`);
    });
    expect(spentMs).toBeLessThan(3000);
  });

  test("does not expand nested aliases (billion laughs)", async () => {
    const levels = Array.from({ length: 30 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`);
    expect(await cpuMsOf(() => parse(`a0: &a0 [x]\n${levels.join("\n")}\n`))).toBeLessThan(500);
  });

  test("throws only our errors for random bytes and mutated policies", () => {
    const random = seeded(42);
    const seed =
      "proc: { memory: 1GiB, cpus: 2 }\nfs:\n  mounts:\n    - { source: a, target: /a }\n  deny: ['{a,b}*', '!.npmrc']\nenv: { A: 'b' }\n";
    const alphabet = "{}[]:,-?&*!|>'\"%@`#~ \n\t\0\\abA019./$\u00e9\u202e\ud800";
    for (let round = 0; round < 1500; round++) {
      const text = [...seed];
      for (let change = 0; change < 1 + random() * 12; change++) {
        const letter = alphabet[Math.floor(random() * alphabet.length)] ?? "";
        text.splice(Math.floor(random() * text.length), random() < 0.5 ? 1 : 0, letter);
      }
      parse(text.join(""));
      parse(Uint8Array.from({ length: 64 }, () => random() * 256));
    }
  });

  test("throws only our errors for strange objects, and does not touch prototypes", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.fs = cyclic;
    const inputs: unknown[] = [
      ...[
        cyclic,
        null,
        undefined,
        1,
        "x",
        [],
        () => 1,
        Symbol("x"),
        10n,
        new Date(),
        new Map(),
        Number.NaN,
        new Proxy({}, {}),
      ],
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("mine");
          },
        },
      ),
      {
        get fs() {
          throw new Error("mine");
        },
      },
      JSON.parse('{"__proto__": {"polluted": true}, "env": {"__proto__": "x", "constructor": "y"}}'),
      { proc: Object.create({ memory: "1GiB" }) },
      { env: { toString: "x", hasOwnProperty: "y" } },
      { fs: { mounts: { length: 3, 0: {} } } },
      { fs: { deny: Array.from({ length: 30_000 }, () => "x") } },
      Array.from({ length: 50 }).reduce<unknown>((inner) => ({ fs: inner }), {}),
      { proc: { timeout: { toString: () => "30s" } }, net: new Array(5) },
    ];
    for (const input of inputs) {
      onlyOurErrors(() => parsePolicy(input));
      onlyOurErrors(() => mergePolicy(parsePolicy({}), input as object, "model"));
    }
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });

  test("refuses rules that an object inherits, instead of ignoring them", () => {
    const input = Object.create({ net: { enabled: true } }) as object;
    expect(() => parsePolicy(input)).toThrow("expected plain data");
    expect(parsePolicy(Object.assign(Object.create(null), { proc: { pids: 9 } })).proc.pids).toBe(9);
  });
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
