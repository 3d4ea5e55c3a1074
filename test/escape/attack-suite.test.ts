import { beforeAll, describe, expect, test } from "vitest";
import type { Attack, AttackResult } from "../../src/attacks/attack.ts";
import { does } from "../../src/attacks/catalogue/make-attack.ts";
import { AttackHost } from "../../src/attacks/host/attack-host.ts";
import { attackTier } from "../../src/attacks/run/run-suite.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import { main } from "../../src/surfaces/cli/main.ts";
import { FakeTerminal } from "../fakes/fake-terminal.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** Directories that suites of this process have in /var/tmp. Their tags are in the names of their variables. */
function canaries(): string[] {
  const tags = Object.keys(process.env).flatMap(
    (name) => /^CODECELL_ATTACK_(M\w+)$/.exec(name)?.[1]?.toLowerCase() ?? [],
  );
  return tags.map((tag) => `/var/tmp/codecell-attack-${tag}`);
}

/** A process runner that shows every cell one directory of the host too many: a wall with a hole. */
function weakRunner(): SandboxRunner {
  const inner = processRunner();
  const holes = () => canaries().map((path) => ({ source: path, target: path, mode: "ro" as const }));
  return {
    name: inner.name,
    isolation: inner.isolation,
    takesWorkspace: inner.takesWorkspace,
    insideSandbox: inner.insideSandbox,
    probe: (options) => inner.probe(options),
    plan: (policy) => inner.plan(policy),
    start: (spec, options) => {
      const fs = { ...spec.policy.fs, mounts: [...spec.policy.fs.mounts, ...holes()] };
      return inner.start({ ...spec, policy: { ...spec.policy, fs } }, options);
    },
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  };
}

const made = { containedBy: { default: "nothing" }, control: { none: "it tests the suite itself" } } as const;
const own: readonly Attack[] = [
  does("own/honest", "is harmless", `verdict = "contained"`, made),
  does(
    "own/liar",
    "reads the secret and denies it",
    `show([text_of(p) for p in host["files"]])\nverdict = "contained"`,
    made,
  ),
  does("own/mistake", "has a mistake", `verdict = no_such_name`, made),
  does("own/silent", "says nothing", `pass`, made),
  does("own/not-here", "makes no sense", `not_tried("there is nothing to try")`, made),
  does("own/crash", "crashes its interpreter", `os.kill(os.getpid(), 11)`, made),
  does("own/endless", "never ends", `while True: pass`, { ...made, timeoutMs: 300 }),
  does("own/ending", "ends as it should", `while True: pass`, { ...made, timeoutMs: 300, endings: ["timeout"] }),
  does("own/after", "comes after all that", `verdict = "contained"`, { ...made, needsOwnCell: true }),
];

describe.skipIf(skipsProcess)("the attack suite on a runner with a hole", () => {
  let verdicts: Record<string, string>;
  let details: Record<string, string>;
  beforeAll(async () => {
    await using host = await AttackHost.open();
    const results = await attackTier({ name: "process", make: weakRunner }, host, { attacks: own });
    const by = (value: (result: AttackResult) => string) =>
      Object.fromEntries(results.map((result) => [result.attack.id, value(result)]));
    verdicts = by(({ verdict }) => verdict);
    details = by(({ detail }) => detail);
  });

  test("sees harm that the program denies, and blames only that program", () => {
    expect(verdicts).toMatchObject({ "own/honest": "contained", "own/liar": "harmed" });
    expect(details["own/liar"]).toBe("it returned the host's secret");
  });

  test("calls an attack that could not be carried out failed, and never contained", () => {
    const failed = ["own/mistake", "own/silent", "own/crash", "own/endless"].map((id) => [id, verdicts[id]]);
    expect(failed.filter(([, verdict]) => verdict !== "failed")).toEqual([]);
    expect(details["own/mistake"]).toContain("NameError");
  });

  test("goes on after a crash and after a time limit, and knows how an attack may end", () => {
    expect(verdicts).toMatchObject({
      "own/ending": "contained",
      "own/after": "contained",
      "own/not-here": "not tried",
    });
  });
});

describe.skipIf(skipsProcess)("codecell doctor --attack on a runner with a hole", () => {
  const terminal = new FakeTerminal();
  let code: number;
  beforeAll(async () => {
    const argv = ["doctor", "--attack", "--runner", "process", "--only", "files/host-*"];
    code = await main(argv, { terminal, runners: () => [weakRunner()] });
  });
  test("removes its targets", () => expect(canaries()).toEqual([]));

  test("says which attacks were not contained, and exits with 1", () => {
    expect(code).toBe(1);
    expect(terminal.stdout.text).toMatch(/^files\/host-secret +HARMED/m);
    expect(terminal.stdout.text).toMatch(/^files\/host-overwrite +contained/m);
    expect(terminal.stdout.text).toContain("Not contained:\n  process: files/host-secret: a program that reads files");
    expect(terminal.stdout.text).toMatch(/^2 attacks did harm, 4 were contained: process$/m);
    expect(terminal.stderr.text).toContain(
      "codecell: process: files/host-secret harmed: it returned the host's secret\n",
    );
  });
});
