import { resolve } from "node:path";
import { stateDirectory } from "../../../lib/files/state-directory.ts";
import type { OptionTable } from "./arguments.ts";
import type { Terminal } from "./terminal.ts";

export const stateOptions = {
  "state-dir": {
    type: "string",
    value: "DIR",
    help: "Directory of sessions and the audit. Default: $XDG_STATE_HOME/codecell.",
  },
} as const satisfies OptionTable;

export interface StateFlags {
  readonly "state-dir"?: string | undefined;
}

/** The directory of sessions: `--state-dir`, else the user's state directory. */
export function stateDirOf(flags: StateFlags, { cwd, env }: Pick<Terminal, "cwd" | "env">): string {
  const named = flags["state-dir"];
  return named === undefined ? stateDirectory(env) : resolve(cwd, named);
}
