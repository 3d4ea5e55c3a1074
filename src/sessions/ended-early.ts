import { CodecellError } from "../lib/errors.ts";
import type { Cell, CellExit } from "../runners/runner.ts";

/** A cell whose channel closed is gone in an instant; an engine that hangs says nothing for longer. */
const exitMs = 4_000;
const lineLength = 300;

/** The error for a cell that ended before it was ready, with what its runner knows and what its isolation printed. */
export async function endedEarly(error: unknown, cell: Cell): Promise<unknown> {
  if (!(error instanceof CodecellError) || error.code !== "cell_lost") return error;
  const exit = await exitWithin(cell, exitMs);
  if (exit?.reason && exit.reason.code !== "cell_lost") return exit.reason;
  const diagnostics = exit?.diagnostics.trim() ?? "";
  const said = diagnostics.split("\n").at(-1)?.slice(0, lineLength) || exit?.reason?.message || error.message;
  const hint = "run `codecell doctor`; the error's details contain the sandbox's output";
  return new CodecellError("cell_start_failed", `the cell exited before it was ready${exitText(exit)}: ${said}`, {
    ...(diagnostics ? { hint } : {}),
    cause: exit?.reason ?? error,
    details: { diagnostics },
  });
}

/** How a cell ended, when it says so soon. */
export async function exitWithin(cell: Pick<Cell, "exited">, ms: number): Promise<CellExit | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  return Promise.race([cell.exited, late]).finally(() => clearTimeout(timer));
}

function exitText(exit: CellExit | undefined): string {
  if (typeof exit?.signal === "string") return ` (${exit.signal})`;
  return typeof exit?.code === "number" ? ` (exit code ${exit.code})` : "";
}
