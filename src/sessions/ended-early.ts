import { preloadFailure } from "../kernel/preload-failure.ts";
import { CodecellError } from "../lib/errors.ts";
import type { Cell, CellExit } from "../runners/runner.ts";

/** Long enough for a cell whose channel closed; an engine that hangs takes longer and is not waited for. */
const exitMs = 4_000;
const lineLength = 300;

const withoutIt = () => "remove it from kernel.preload";

/** The error for a cell that exited before it was ready: the runner's reason, or the last line of the sandbox's output. */
export async function endedEarly(error: unknown, cell: Cell): Promise<unknown> {
  if (!(error instanceof CodecellError)) return error;
  const missing = error.code === "cell_start_failed" && preloadFailure(error.message, cell.moduleHint ?? withoutIt);
  if (missing) return missing;
  if (error.code !== "cell_lost") return error;
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

/** How a cell exited, or undefined if it does not exit in time. */
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
