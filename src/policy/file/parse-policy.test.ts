import { describe, expect, test } from "vitest";
import { leastCpuMsOf } from "../../../test/support/cpu-time.ts";
import { CodecellError } from "../../lib/errors.ts";
import { policySchema } from "../schema.ts";
import { parsePolicy } from "./parse-policy.ts";
import { parsePolicyText } from "./parse-policy-text.ts";

const options = { file: "sandbox.policy.yaml", baseDir: "/srv/project", homeDir: "/home/someone" };

function parse(text: string | Uint8Array) {
  return parsePolicyText(text, options);
}

/** The lines of the error, without the file's name. */
function problems(text: string | Uint8Array): string[] {
  try {
    parse(text);
  } catch (error) {
    if (!(error instanceof CodecellError)) throw error;
    expect(error.code).toBe("policy_invalid");
    return error.message.split("\n").map((line) => line.replace("sandbox.policy.yaml:", ""));
  }
  return [];
}

describe("a policy file", () => {
  test.each(["", "\n", "# nothing\n", "---\n", "{}", "version: 1", "fs:\nnet:\nproc:\n", "\ufeff"])(
    "an empty policy file (%j) is the strictest policy",
    (text) => expect(parse(text)).toEqual(parsePolicy({})),
  );

  test.each(Object.keys(policySchema().shape).filter((name) => name !== "version"))(
    "the empty section %s of a policy file means the same as none",
    (name) => expect(parse(`${name}: # every rule is commented out\n`)).toEqual(parsePolicy({})),
  );

  test("has small limits and opens nothing of the host by default", () => {
    expect(parse("")).toEqual({
      version: 1,
      isolation: { runner: "auto", minimum: "wasm" },
      fs: { mounts: [], deny: [], load: [] },
      net: {
        ...{ enabled: false, allowlist: [], deny: [], inspect: [], rules: [], secrets: {} },
        ...{ connections: 64, requests: 50, sentBytes: 4 * 2 ** 30, receivedBytes: 64 * 2 ** 30 },
      },
      proc: {
        ...{
          timeoutMs: 30_000,
          memoryBytes: 512 * 2 ** 20,
          diskBytes: 256 * 2 ** 20,
          exactDisk: false,
          outputBytes: 2 ** 20,
        },
        ...{ cpus: 1, pids: 64, files: 1024, background: false },
      },
      env: {},
      session: {
        recovery: "auto",
        idleMs: 1_800_000,
        lifetimeMs: 86_400_000,
        limit: 32,
        persist: false,
        checkpoints: 8,
        undo: 0,
        pool: 0,
      },
      kernel: {
        preload: [],
        packages: {
          install: [],
          index: [],
          allow: ["*"],
          deny: [],
          hashes: false,
          inside: false,
          minAgeMs: 0,
          sdists: [],
        },
      },
      llm: {
        ...{ models: [], calls: 50, tokens: 2_000_000, usd: 1, depth: 1, concurrency: 8, promptChars: 400_000 },
        ...{ callTimeoutMs: 120_000, timeoutMs: 600_000 },
      },
      tools: { allow: [], calls: 100, timeoutMs: 30_000, argumentsBytes: 256 * 2 ** 10, resultBytes: 2 ** 20 },
      audit: { enabled: true, code: "full", durable: false, keepBytes: 2 ** 30, keepMs: 90 * 86_400_000 },
      overrides: { ceiling: {} },
    });
  });

  test("resolves its paths against its own directory and the home directory", () => {
    const { fs, kernel } = parse(
      "fs: { workspace: work/., deps: ~/deps, mounts: [{ source: ../data, target: /data/ }], load: [in, ~/x.csv] }\nkernel: { python: venv/bin/python }",
    );
    expect(fs.workspace).toBe("/srv/project/work");
    expect(fs.deps).toBe("/home/someone/deps");
    expect(fs.mounts).toEqual([{ source: "/srv/data", target: "/data", mode: "ro" }]);
    expect(fs.load).toEqual(["/srv/project/in", "/home/someone/x.csv"]);
    expect(kernel.python).toBe("/srv/project/venv/bin/python");
  });

  test("a policy file with several problems reports all of them, with line, column, rule and suggestion", () => {
    const text = `proc:
  memry: 2GiB
  memory: 2gb
  timeout: 30
memory: 1GiB
isolation: { runner: procss }
net: { enabled: yes }
env: { PORT: 8080 }
`;
    expect(problems(text)).toEqual([
      "2:3  proc.memry: unknown rule (did you mean memory?)",
      '3:11  proc.memory: expected a size such as 2GiB, 512MiB or 100KB, not "2gb" (did you mean 2GB?)',
      "4:12  proc.timeout: expected a duration such as 30s, 5m or 250ms, not 30 (did you mean 30s?)",
      "5:1  memory: unknown rule (did you mean proc.memory?)",
      '6:22  isolation.runner: expected one of auto, wasm, srt, process, container, kata, gvisor, kubernetes, not "procss" (did you mean process?)',
      '7:17  net.enabled: expected true or false, not "yes" (did you mean true?)',
      '8:14  env.PORT: expected text, not 8080 (did you mean "8080"?)',
    ]);
  });

  test("the error for a policy file has its problems as data", () => {
    expect(() => parse("proc: { memry: 2GiB }")).toThrow(
      expect.objectContaining({
        code: "policy_invalid",
        hint: expect.stringContaining("policy schema"),
        details: {
          file: "sandbox.policy.yaml",
          problems: [{ rule: "proc.memry", message: "unknown rule", suggestion: "memory", line: 1, column: 9 }],
        },
      }),
    );
  });

  test.each([
    ["a duplicate key", "proc:\n  pids: 9\n  pids: 10\n", "3:3  proc.pids: is written twice; the first is on line 2"],
    [
      "an alias",
      "env:\n  A: &a x\n  B: *a\n",
      "3:6  env.B: aliases (*name) are not allowed in a policy; write the value out",
    ],
    ["a tag", "env:\n  A: !!str 1\n", "2:12  env.A: tags (!name) are not allowed in a policy"],
    ["__proto__", "fs:\n  __proto__: { workspace: /x }\n", "2:3  fs.__proto__: this key is never allowed"],
    ["a constructor", "constructor: { prototype: 1 }", "1:1  constructor: this key is never allowed"],
    ["a merge key", "fs: { <<: {} }", "1:7  fs.<<: unknown rule"],
    ["a second document", "proc: {}\n---\nproc: {}\n", "2:1  a policy is one YAML document; a second one starts here"],
    [
      "a directive",
      "%YAML 1.1\n---\nnet: { enabled: off }\n",
      "1:1  directives such as %YAML are not allowed in a policy",
    ],
    ["a list", "- proc", "1:1  expected a section with rules in it, not a list"],
    ["a control character", "env:\n  A: \u001b[2J", "2:6  control characters are not allowed in a policy"],
    ["deep nesting", `fs: ${"[".repeat(100_000)}`, "1:44  nested too deeply"],
    ["a home directory", "fs: { workspace: ~/ }", expect.stringContaining("is a home directory")],
    ["the host's root", "fs: { workspace: / }", "1:18  fs.workspace: / is the whole host"],
    [
      "a system directory",
      "fs: { deps: /etc/ssl }",
      expect.stringContaining("/etc is refused, with everything below it"),
    ],
    ["credentials", "fs: { deps: ~/.aws }", "1:13  fs.deps: /home/someone/.aws is denied by .aws/**"],
    ["a system file to load", "fs: { load: [a, /etc/passwd] }", expect.stringContaining("fs.load[1]: /etc is refused")],
    ["a denied file to load", "fs: { load: [.ENV] }", "1:14  fs.load[0]: /srv/project/.ENV is denied by .env*"],
    ["a null path", "fs: { workspace: ~ }", "1:18  fs.workspace: expected a path"],
    [
      "an exception to no entry of the built-in list",
      "fs: { deny: ['!.npmr'] }",
      expect.stringContaining("(did you mean !.npmrc?)"),
    ],
    ["a broken glob", "fs: { deny: ['a['] }", expect.stringContaining("fs.deny[0]")],
    [
      "a loader variable",
      "env: { LD_PRELOAD: /workspace/x.so }",
      expect.stringContaining("env.LD_PRELOAD: this variable controls"),
    ],
    ["too little memory", "proc: { memory: 1MiB }", '1:17  proc.memory: at least 16MiB, not "1MiB"'],
    ["a timeout that a timer cannot hold", "proc: { timeout: 600h }", '1:18  proc.timeout: at most 24h, not "600h"'],
    ["infinite processors", "proc: { cpus: .inf }", expect.stringContaining("proc.cpus")],
    [
      "a contradiction",
      "isolation: { runner: wasm, minimum: process }",
      "1:22  isolation.runner: wasm is below isolation.minimum, which is process",
    ],
    [
      "a typo in the ceiling",
      "overrides: { ceiling: { proc: { memry: 1GiB } } }",
      "1:33  overrides.ceiling.proc.memry: unknown rule (did you mean memory?)",
    ],
    ["an unknown version", "version: 2", "1:10  version: expected 1, the only version, not 2"],
  ])("a policy file with %s is refused", (_what, text, problem) => expect(problems(text)).toEqual([problem]));

  test("a policy file with bad mounts is refused, with one problem for each mount", () => {
    const text = `fs:
  mounts:
    - { source: data, target: /usr/lib }
    - { source: data, target: data, mode: rwx }
    - { target: /x }
    - { source: data, target: /x/y }
    - { source: /usr/local, target: /z, mode: rw }
`;
    expect(problems(text)).toEqual([
      "3:31  fs.mounts[0].target: /usr is reserved for the cell itself",
      "4:31  fs.mounts[1].target: expected an absolute path inside the cell, such as /data",
      '4:43  fs.mounts[1].mode: expected one of ro, rw, not "rwx" (did you mean rw?)',
      "5:7  fs.mounts[2].source: expected a path (it is missing)",
      "6:31  fs.mounts[3].target: overlaps with the mount at /x",
      "7:17  fs.mounts[4].source: /usr can only be mounted read-only: the host runs programs from it",
    ]);
  });

  test("a policy file whose interpreter is in a writable mount is refused", () => {
    const text = "fs: { workspace: . }\nkernel: { python: .venv/bin/python }";
    expect(problems(text)).toEqual([
      "2:19  kernel.python: /srv/project/.venv/bin/python can be rewritten from inside the cell, through workspace",
    ]);
  });

  test("a policy file that is not UTF-8 is rejected with the line number", () => {
    const text = Buffer.concat([
      Buffer.from("proc:\n  pids: 9\nenv: { A: "),
      Buffer.from([0xc3, 0x28]),
      Buffer.from(" }\n"),
    ]);
    expect(problems(text)).toEqual(["3:1  this line is not UTF-8"]);
    expect(problems(Buffer.from("proc: {}", "utf16le"))).toHaveLength(1);
  });

  test("a policy file of 10 MB is rejected before it is parsed", async () => {
    const huge = Buffer.alloc(10_000_000, "[");
    const spentMs = await leastCpuMsOf(() =>
      expect(problems(huge)).toEqual(["1:1  the file has 10000000 bytes; the limit is 256KiB"]),
    );
    expect(spentMs).toBeLessThan(100);
  });

  test("a policy file with hundreds of problems lists the first twenty", () => {
    const lines = problems(Array.from({ length: 500 }, (_, index) => `rule${index}: 1`).join("\n"));
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe("… and more");
  });

  test("cannot forge lines or terminal output through its keys and values", () => {
    const lines = problems('"a\\nb\\e[2J": 1\nproc: { memory: "2\\u202eGiB\\nfine" }');
    expect(lines).toHaveLength(2);
    expect(lines.join("")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  });
});

describe("a policy object", () => {
  test("takes the same rules as a file", () => {
    expect(parsePolicy({ proc: { timeout: "5m" }, env: undefined }).proc.timeoutMs).toBe(300_000);
    expect(() => parsePolicy({ proc: { memry: 1 } })).toThrow("proc.memry: unknown rule (did you mean memory?)");
  });

  test("needs absolute paths unless a base directory is given", () => {
    expect(() => parsePolicy({ fs: { workspace: "work" } })).toThrow("fs.workspace: expected an absolute path");
    expect(parsePolicy({ fs: { workspace: "work" } }, { baseDir: "/srv" }).fs.workspace).toBe("/srv/work");
  });

  test("is not changed by parsing", () => {
    const input = { fs: { workspace: "work" } };
    parsePolicy(input, { baseDir: "/srv" });
    expect(input).toEqual({ fs: { workspace: "work" } });
  });
});
