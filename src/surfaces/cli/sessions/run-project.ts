import type { Policy } from "../../../policy/schema.ts";
import type { RunResult } from "../../../sessions/runs/run.ts";
import type { RunOptions } from "../../../sessions/runs/run-options.ts";
import type { Session } from "../../../sessions/session.ts";
import { safeText } from "../format/text/safe-text.ts";
import { styleFor } from "../format/text/style.ts";
import { packageHint } from "../packages/package-hint.ts";
import type { Code } from "../shell/read-code.ts";
import type { Terminal } from "../shell/terminal.ts";
import { networkHint } from "./network-hint.ts";

/** Options of a run that can see the directory of `--project`. */
export async function projectIn(session: Session, directory: string, code: Pick<Code, "beside">): Promise<RunOptions> {
  return (await import("../project/project.ts")).neighboursIn(session, directory, code);
}

/** A hint for a program that failed because something is missing: at `--project` for a file beside it, else at `--with`. */
export async function missingHint(
  result: RunResult,
  { projectDir }: { readonly projectDir?: string | undefined },
  code: Pick<Code, "beside" | "name">,
  policy: Policy,
): Promise<string | undefined> {
  if (result.status !== "error") return undefined;
  const { error } = result;
  const mayBeBeside = projectDir === undefined && /^(?:ModuleNotFound|FileNotFound)Error$/.test(error?.name ?? "");
  const beside = mayBeBeside && (await (await import("../project/neighbour-hint.ts")).neighbourHint(error, code));
  // The attack: an index has a package with the name of the user's own module.
  return beside || (packageHint(result, policy.kernel.packages.inside) ?? networkHint(result, policy));
}

export function printHint(hint: string | undefined, { stderr, env }: Terminal): void {
  if (hint !== undefined) stderr.write(`${styleFor(stderr, env).yellow("codecell:")} ${safeText(hint)}\n`);
}
