import type { RunResult } from "../../../sessions/runs/run.ts";
import type { RunOptions } from "../../../sessions/runs/run-options.ts";
import type { Session } from "../../../sessions/session.ts";
import { safeText } from "../format/safe-text.ts";
import { styleFor } from "../format/style.ts";
import type { Code } from "../shell/read-code.ts";
import type { Terminal } from "../shell/terminal.ts";

/** Options of a run that can see the directory of `--project`. */
export async function projectIn(session: Session, directory: string, code: Pick<Code, "beside">): Promise<RunOptions> {
  return (await import("../project/project.ts")).neighboursIn(session, directory, code);
}

/** A hint at `--project` for a program that failed because it cannot see the files beside it. */
export async function missingHint(
  { error }: Pick<RunResult, "error">,
  { projectDir }: { readonly projectDir?: string | undefined },
  code: Pick<Code, "beside" | "name">,
): Promise<string | undefined> {
  if (projectDir !== undefined || !/^(?:ModuleNotFound|FileNotFound)Error$/.test(error?.name ?? "")) return undefined;
  return (await import("../project/neighbour-hint.ts")).neighbourHint(error, code);
}

export function printHint(hint: string | undefined, { stderr, env }: Terminal): void {
  if (hint !== undefined) stderr.write(`${styleFor(stderr, env).yellow("codecell:")} ${safeText(hint)}\n`);
}
