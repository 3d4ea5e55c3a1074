import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import { stateDirectory } from "../../../lib/files/state-directory.ts";
import { isPythonFacts, type PythonFacts } from "../../../service/tools/policy-facts.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { McpFlags } from "./mcp-options.ts";

/** What an earlier server with the same policy and runner found; undefined: there was none. Creates nothing. */
export async function knownPython(flags: McpFlags, terminal: Terminal): Promise<PythonFacts | undefined> {
  try {
    const facts: unknown = JSON.parse(await readFile(fileOf(flags, terminal), "utf8"));
    return isPythonFacts(facts) ? facts : undefined;
  } catch {
    return undefined;
  }
}

/** Keeps it for the next server: a model should know what it can import before its first call. */
export async function rememberPython(python: PythonFacts, flags: McpFlags, terminal: Terminal): Promise<void> {
  await writeFileAtomically(fileOf(flags, terminal), `${JSON.stringify(python)}\n`);
}

function fileOf(flags: McpFlags, { cwd, env }: Terminal): string {
  const named = flags["state-dir"];
  const stateDir = named === undefined ? stateDirectory(env) : resolve(cwd, named);
  // without a named policy, the one in this directory applies, if there is one
  const policy = resolve(cwd, flags.policy ?? (env.CODECELL_POLICY || "."));
  const key = createHash("sha256")
    .update(JSON.stringify([policy, flags.runner ?? ""]))
    .digest("hex");
  return join(stateDir, `python-${key.slice(0, 16)}.json`);
}
