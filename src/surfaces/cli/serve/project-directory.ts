import { resolve } from "node:path";
import type { Terminal } from "../shell/terminal.ts";

/** The directory that the client works in: Claude Code names it, others start the server there. */
export function projectDirectory({ env, cwd }: Pick<Terminal, "env" | "cwd">): string {
  return resolve(cwd, env.CLAUDE_PROJECT_DIR || ".");
}
