import { z } from "zod";
import type { Difference } from "./differences.ts";

const line = z.object({
  module: z.string(),
  tests: z.record(z.string(), z.tuple([z.enum(["ok", "skipped", "failed"]), z.string()])),
});

/** Outcomes by the test's id, without the package's name: `test_os.ForkTests.test_fork`. */
export type Outcomes = ReadonlyMap<string, { readonly outcome: "ok" | "skipped" | "failed"; readonly detail: string }>;

/** Reads what outcomes.py printed. */
export function parseOutcomes(text: string): Outcomes {
  const found = text
    .trim()
    .split("\n")
    .flatMap((one) => Object.entries(line.parse(JSON.parse(one)).tests))
    .map(([id, [outcome, detail]]) => [id.replace(/^test\./, ""), { outcome, detail }] as const);
  return new Map(found);
}

export interface Comparison {
  /** tests that pass on the bare machine only, and that no listed difference explains */
  readonly unexpected: readonly { readonly test: string; readonly inCell: string }[];
  /** listed differences whose tests all pass in the cell too */
  readonly stale: readonly string[];
}

/** Only a test that passes on the bare machine says something about a cell. */
export function compareOutcomes(bare: Outcomes, cell: Outcomes, listed: readonly Difference[]): Comparison {
  const passing = [...bare].filter(([, { outcome }]) => outcome === "ok").map(([test]) => test);
  const different = passing.filter((test) => cell.get(test)?.outcome !== "ok");
  const explains = (difference: Difference, test: string) => difference.tests.some((pattern) => matches(pattern, test));
  const unexpected = different.filter((test) => !listed.some((one) => explains(one, test)));
  return {
    unexpected: unexpected.map((test) => {
      const found = cell.get(test);
      return { test, inCell: found ? `${found.outcome}: ${found.detail}` : "missing" };
    }),
    // per pattern, so that a difference that went away in part is noticed too
    stale: listed
      .flatMap(({ tests }) => tests)
      .filter((pattern) => passing.some((test) => matches(pattern, test)))
      .filter((pattern) => !different.some((test) => matches(pattern, test))),
  };
}

/** `*` stands for any characters. */
function matches(pattern: string, test: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`).test(test);
}
