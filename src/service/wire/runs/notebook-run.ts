import { z } from "zod";
import type { CellOutcome } from "../../notebook/execute-notebook.ts";
import { encodeReceipt, receiptSchema } from "../receipt.ts";
import { encodeUsage, usageSchema } from "../usage.ts";
import { runEndings, runErrorSchema } from "./run.ts";

const cellSchema = z.strictObject({
  cell: z.int().describe("place of the cell in the notebook, from 1; cells of text count too"),
  execution_count: z.int().nullable().describe("as the notebook shows it; null: it was not run"),
  status: z
    .enum([...runEndings, "refused"])
    .describe("as in a run; `refused`: a magic that codecell does not have, or no shell"),
  tolerated: z.boolean().describe("it failed, and `raises-exception` or `--allow-errors` permits that"),
  error: runErrorSchema.nullable().describe("the exception that ended the cell"),
  problem: z.string().nullable().describe("what went wrong, in one line; null: nothing"),
  duration_ms: z.int(),
  usage: usageSchema.nullable().describe("what the cell used; null: it was not run"),
});

export const notebookRunSchema = z.strictObject({
  notebook: z.string().describe("path of the notebook"),
  output: z
    .string()
    .nullable()
    .describe("path of the notebook with outputs; null: no cell was run, and nothing was written"),
  session_id: z.string().nullable().describe("null: without `--session`"),
  status: z.enum([...runEndings, "refused"]).describe("`ok`, or how the cell ended that stopped the notebook"),
  cells: z.array(cellSchema).describe("the cells that were run, in order"),
  cells_left: z.int().describe("how many cells with code were not run, because one before them failed"),
  runner: z.string(),
  receipt: receiptSchema.optional().describe("of the last cell that was run: what enforced the policy"),
});
/** What `codecell run notebook.ipynb --json` prints. */
export type WireNotebookRun = z.output<typeof notebookRunSchema>;

/** Facts about a notebook that was run. */
export interface NotebookFacts {
  readonly notebook: string;
  readonly output: string | undefined;
  readonly sessionId: string | undefined;
  readonly outcomes: readonly CellOutcome[];
  readonly cellCount: number;
  readonly runner: string;
}

export function encodeNotebookRun(facts: NotebookFacts): WireNotebookRun {
  const { notebook, output = null, sessionId = null, outcomes, cellCount, runner } = facts;
  const last = outcomes.at(-1);
  const receipt = outcomes.findLast(({ result }) => result)?.result?.receipt;
  return {
    ...{ notebook, output, session_id: sessionId },
    status: last === undefined || last.isTolerated ? "ok" : last.status,
    cells: outcomes.map(encodeCell),
    cells_left: cellCount - outcomes.length,
    runner,
    ...(receipt ? { receipt: encodeReceipt(receipt) } : {}),
  };
}

function encodeCell({ cell, status, result, problem, isTolerated }: CellOutcome): WireNotebookRun["cells"][number] {
  const error = result?.error;
  return {
    cell: cell.number,
    execution_count: result?.id ?? null,
    status,
    tolerated: status !== "ok" && isTolerated,
    error: error ? { type: error.name, message: error.message, traceback: error.traceback } : null,
    problem: problem ?? null,
    duration_ms: Math.round(result?.durationMs ?? 0),
    usage: result ? encodeUsage(result.usage) : null,
  };
}
