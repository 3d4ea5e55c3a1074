import { describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { presetNames, presets } from "../../src/policy/file/presets.ts";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { hasSrtPackage, testedSrtRunner } from "../support/srt.ts";
import { isMissing, type Tier, testsContainersOnly, tiersByRequest } from "../support/tiers.ts";

/** The tiers of this project; sandbox-runtime is not one of the tiers that parity compares. */
const runners: readonly { readonly name: string; readonly make: Tier["make"]; readonly skip: boolean }[] = [
  ...(await Promise.all(tiersByRequest.map(async (tier) => ({ ...tier, skip: await isMissing(tier) })))),
  ...(testsContainersOnly ? [] : [{ name: "srt", make: testedSrtRunner, skip: !(await hasSrt()) }]),
];

async function hasSrt(): Promise<boolean> {
  await using runner = testedSrtRunner();
  return hasSrtPackage && (await runner.probe({ isPatient: true })).available;
}

for (const { name, make, skip } of runners) {
  describe.skipIf(skip)(`presets on ${name}`, () => {
    test.each(presetNames)(
      "%s runs code, or its start says which module is missing and how to get it",
      async (preset) => {
        const input: PolicyInput = presets[preset];
        const modules = input.kernel?.preload ?? [];
        const started = await startAndRun(
          make,
          input,
          `${modules.map((one) => `import ${one}`).join("\n")}\nprint("ran")`,
        );
        if (started instanceof CodecellError) expectNamed(started, modules);
        else expect(started).toMatchObject({ status: "ok", stdout: "ran\n", stderr: "" });
      },
    );

    test("a module that no machine has is named, with the way to get it", async () => {
      const started = await startAndRun(make, { kernel: { preload: ["no_such_module"] } }, "1");
      expectNamed(started, ["no_such_module"]);
    });
  });
}

const ofProcesses = runners.filter(({ name }) => name.startsWith("process"));
for (const { name, make, skip } of ofProcesses) {
  describe.skipIf(skip)(`a preloaded module on ${name}`, () => {
    test("finds a place for temporary files when it is imported", async () => {
      // matplotlib makes a directory for its caches on import
      const code = "import matplotlib, os; os.path.isdir(matplotlib.get_cachedir())";
      const result = await startAndRun(make, { kernel: { preload: ["matplotlib"] } }, code);
      if (result instanceof CodecellError) expectNamed(result, ["matplotlib"]);
      else expect(result).toMatchObject({ status: "ok", value: "True" });
    });

    test("shares no file with cells: each has a /tmp of its own", async () => {
      const policy = parsePolicy({ kernel: { preload: ["json"] } });
      await using codecell = await LiveSessions.open({ policy, runners: [make()] });
      await using first = await codecell.openSession();
      await using second = await codecell.openSession();
      const look = "import os; sorted(os.path.join(d, f) for d, _, fs in os.walk('/tmp') for f in fs)";
      await first.run("open('/tmp/left.txt', 'w').write('x')");
      expect((await first.run(look)).value).toBe("['/tmp/left.txt']");
      expect((await second.run(look)).value).toBe("[]");
    });
  });
}

async function startAndRun(make: Tier["make"], input: PolicyInput, code: string) {
  try {
    const runner = make();
    const policy = parsePolicy({ ...input, isolation: { runner: runner.name } });
    await using codecell = await LiveSessions.open({ policy, runners: [runner] });
    await using session = await codecell.openSession();
    return await session.run(code);
  } catch (error) {
    return error;
  }
}

/** A missing module is no excuse for anything else: the error is about `kernel.preload` and names one of its modules. */
function expectNamed(error: unknown, modules: readonly string[]): void {
  expect(error).toBeInstanceOf(CodecellError);
  const { code, message, hint = "" } = error as CodecellError;
  expect(["cell_start_failed", "policy_refused"]).toContain(code);
  expect(message).toContain("kernel.preload");
  expect(message).toMatch(/cannot be imported: No module named|the WASM runtime does not have/);
  expect(modules.some((one) => message.includes(one))).toBe(true);
  expect(hint).toMatch(/install|kernel\.image|process/);
}
