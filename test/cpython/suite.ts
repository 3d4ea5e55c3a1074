import { describe, expect, test } from "vitest";
import type { SandboxRunner } from "../../src/runners/runner.ts";
import type { Missing } from "../contract/required.ts";
import type { BareMachine } from "./bare-machine.ts";
import { type Comparison, compareOutcomes, type Outcomes } from "./compare.ts";
import { type CellKind, differences } from "./differences.ts";
import type { TestModule } from "./modules.ts";
import { type CpythonTests, findCpythonTests, runBare, runInCell } from "./run-modules.ts";

export interface CpythonCell {
  readonly kind: CellKind;
  readonly title: string;
  /** starts what the cell needs, and says how to make its runner */
  readonly prepare: () => Promise<() => SandboxRunner>;
  readonly modules: readonly TestModule[];
  readonly bareMachine: BareMachine;
  /** true: this machine cannot start such a cell, and that has been reported */
  readonly isMissing: boolean;
}

/** CPython's own tests in a cell, compared with the bare machine. */
export async function describeCpython({ kind, title, modules, ...cell }: CpythonCell): Promise<void> {
  const tests = await findCpythonTests();
  if (tests === undefined) console.warn(`skipped: ${missing.reason}. To bring them: ${missing.hint}`);
  const options = tests === undefined ? { skip: true, meta: { missing } } : cell.isMissing ? { skip: true } : {};
  const listed = differences.filter((one) => one.in.includes(kind));

  describe(title, options, () => {
    test(
      "gives CPython's own tests the outcomes of the bare machine, except for listed differences",
      async ({ skip }) => {
        if (tests === undefined) return;
        const make = await cell.prepare();
        const first = await runBoth(make, cell.bareMachine.outcomes(tests, modules), tests, modules);
        if (first === undefined) return skip(`the cell's Python is not ${tests.version}, which the tests are for`);
        expect(silentModules(modules, first.bare), "modules of which nothing passes on the bare machine").toEqual([]);
        const found = await withoutChance(tests, first, make);
        const news = found.unexpected.map(({ test, inCell }) => `${test} ${inCell}`);
        expect(news, `new differences, to fix or to list in differences.ts:\n${news.join("\n")}`).toEqual([]);
        expect(found.stale, `differences.ts lists what no longer occurs:\n${found.stale.join("\n")}`).toEqual([]);
      },
      45 * 60_000, // two rounds, each with a limit of its own
    );
  });

  interface Both {
    readonly bare: Outcomes;
    readonly cell: Outcomes;
  }

  async function runBoth(
    make: () => SandboxRunner,
    onBareMachine: Promise<Outcomes>,
    tests: CpythonTests,
    which: readonly TestModule[],
  ): Promise<Both | undefined> {
    await using runner = make();
    const [bare, inCell] = await Promise.all([onBareMachine, runInCell(tests, which, runner)]);
    return inCell && { bare, cell: inCell };
  }

  /** Many of these tests measure time and fail by chance on a busy machine: a difference counts if it occurs twice. */
  async function withoutChance(tests: CpythonTests, first: Both, make: () => SandboxRunner): Promise<Comparison> {
    const found = compareOutcomes(first.bare, first.cell, listed);
    const suspects = modules.filter(({ module }) => found.unexpected.some(({ test }) => test.startsWith(`${module}.`)));
    if (suspects.length === 0) return found;
    console.warn(`CPython's tests: again ${JSON.stringify(found.unexpected)}`);
    const second = await runBoth(make, runBare(tests, suspects), tests, suspects);
    const again = second && compareOutcomes(second.bare, second.cell, listed).unexpected.map((one) => one.test);
    return { ...found, unexpected: found.unexpected.filter((one) => again?.includes(one.test) ?? true) };
  }
}

/** A module that does not even import would otherwise look like one without differences. */
function silentModules(modules: readonly TestModule[], bare: Outcomes): string[] {
  const passing = [...bare].filter(([, { outcome }]) => outcome === "ok").map(([test]) => test);
  return modules.map(({ module }) => module).filter((module) => !passing.some((test) => test.startsWith(`${module}.`)));
}

const missing: Missing = {
  name: "CPython's own tests",
  reason: "CPython's own tests for /usr/bin/python3 are not installed",
  hint: "apt install libpython3.11-testsuite (the version of /usr/bin/python3)",
};
