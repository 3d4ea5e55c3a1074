import type { Outcomes } from "./compare.ts";
import type { TestModule } from "./modules.ts";
import { type CpythonTests, runBare } from "./run-modules.ts";

/** The outcomes of the bare machine. A module that several cells are compared by runs once. */
export class BareMachine {
  readonly #runs: { readonly modules: readonly TestModule[]; readonly outcomes: Promise<Outcomes> }[] = [];

  async outcomes(tests: CpythonTests, modules: readonly TestModule[]): Promise<Outcomes> {
    const missing = modules.filter((module) => !this.#runs.some((run) => run.modules.includes(module)));
    if (missing.length > 0) this.#runs.push({ modules: missing, outcomes: runBare(tests, missing) });
    const runs = await Promise.all(this.#runs.map(async (run) => ({ ...run, outcomes: await run.outcomes })));
    const found = runs.flatMap((run) => [...run.outcomes].filter(([test]) => isOf(test, run.modules, modules)));
    return new Map(found);
  }
}

/** Whether a test belongs to a module that was run and is wanted. */
function isOf(test: string, run: readonly TestModule[], wanted: readonly TestModule[]): boolean {
  return run.some((one) => wanted.includes(one) && test.startsWith(`${one.module}.`));
}
