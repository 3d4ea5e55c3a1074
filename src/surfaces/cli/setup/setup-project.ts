import { chmod, readFile, realpath, stat } from "node:fs/promises";
import { isAbsolute, join } from "node:path";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import type { Terminal } from "../shell/terminal.ts";
import { editMcpJson, type McpEntry } from "./mcp-json.ts";
import type { SetupReport } from "./setup-report.ts";

/** Adds or removes the server's entry in the project's `.mcp.json`, and reports the change. */
export async function setUpProject(
  { cwd }: Terminal,
  entry: McpEntry | undefined,
  { print, report }: { print: boolean; report: SetupReport },
): Promise<number> {
  const named = join(cwd, ".mcp.json");
  const file = await realpath(named).catch(() => named); // if .mcp.json is a link, write its target
  const before = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  const after = editMcpJson(before, "codecell", entry);
  if (after === before || after === undefined) {
    report.tell({
      step: "unchanged",
      why: `${named} ${entry ? "already has the server" : "does not have the server"}`,
    });
    return 0;
  }
  const advice = entry && adviceFor(entry);
  if (print) {
    report.tell({ step: "would write", file: named, content: after, ...(advice ? { advice } : {}) });
    return 0;
  }
  const mode = before === undefined ? 0o644 : (await stat(file)).mode & 0o777;
  await writeFileAtomically(file, after);
  await chmod(file, mode);
  report.tell({ step: "wrote", file: named, content: after, ...(advice ? { advice } : {}) });
  return 0;
}

function adviceFor({ command }: McpEntry): string {
  const trust = "Claude Code will ask once whether to trust the server";
  if (!isAbsolute(command)) return `${trust}; everyone who uses this file needs \`codecell\` on PATH`;
  return `${trust}\nThe file contains paths of this machine. To share it, run \`npm install -g .\` in codecell's directory and run this again`;
}
