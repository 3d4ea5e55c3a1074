import { statSync } from "node:fs";
import { posix, relative, resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import type { Neighbours } from "../../../sessions/runs/run-options.ts";
import type { Session } from "../../../sessions/session.ts";
import type { OptionTable } from "../shell/arguments.ts";
import type { Code } from "../shell/read-code.ts";
import type { Terminal } from "../shell/terminal.ts";
import { projectTarget } from "./project-mount.ts";

export const projectOptions = {
  project: {
    type: "string",
    value: "DIR",
    help: "Let the program import and open the files of DIR by relative names, read-only.",
  },
} as const satisfies OptionTable;

/** The directory of `--project`, as an absolute path; undefined: the program has no neighbours. */
export function projectDirectory(typed: string | undefined, { cwd }: Pick<Terminal, "cwd">): string | undefined {
  if (typed === undefined) return undefined;
  const path = resolve(cwd, typed);
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return path;
  throw new CodecellError("usage", `--project ${JSON.stringify(typed)} is not a directory`, {
    hint: "name the directory that the program is in, such as --project .",
  });
}

/** What a run needs to see its neighbours. A cell in memory gets copies of the files first. */
export async function neighboursIn(
  session: Session,
  projectDir: string | undefined,
  { beside }: Pick<Code, "beside">,
): Promise<{ readonly neighbours?: Neighbours }> {
  if (projectDir === undefined) return {};
  const scriptIn = (root: string) => [...new Set([posix.join(root, below(projectDir, beside?.path)), root])];
  if (session.policy.isolation.runner !== "wasm") {
    return { neighbours: { directory: projectTarget, path: scriptIn(projectTarget) } };
  }
  await (await import("./copy-project.ts")).copyProject(session, projectDir);
  return { neighbours: { path: scriptIn("/workspace") } };
}

/** Where the program is below the project; `.` if it is elsewhere. */
function below(projectDir: string, scriptDir: string | undefined): string {
  const path = scriptDir === undefined ? "." : relative(projectDir, scriptDir);
  return path === "" || path.startsWith("..") || path.startsWith("/") ? "." : path;
}
