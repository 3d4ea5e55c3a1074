import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { z } from "zod";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import { stateDirectory } from "../../../lib/files/state-directory.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { McpFlags } from "./mcp-options.ts";

const linesSchema = z.record(z.string().regex(/^\w{1,64}$/), z.string().max(200));
type Lines = Readonly<Record<string, string>>;

/** What an earlier server found in the same file of servers; empty: nothing. Servers take seconds to start, and a model reads this at once. */
export async function knownFunctions(flags: McpFlags, terminal: Terminal): Promise<Lines> {
  try {
    return linesSchema.parse(JSON.parse(await readFile(fileOf(flags, terminal), "utf8")));
  } catch {
    return {};
  }
}

/** Keeps it for the next server. */
export async function rememberFunctions(lines: Lines, flags: McpFlags, terminal: Terminal): Promise<void> {
  await writeFileAtomically(fileOf(flags, terminal), `${JSON.stringify(lines)}\n`);
}

function fileOf(flags: McpFlags, { cwd, env }: Terminal): string {
  const named = flags["state-dir"];
  const stateDir = named === undefined ? stateDirectory(env) : resolve(cwd, named);
  const policy = resolve(cwd, flags.policy ?? (env.CODECELL_POLICY || "."));
  const key = createHash("sha256")
    .update(JSON.stringify([policy, resolve(cwd, flags["tools-from"] ?? "")]))
    .digest("hex");
  return join(stateDir, `functions-${key.slice(0, 16)}.json`);
}
