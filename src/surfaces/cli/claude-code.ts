import { spawn } from "node:child_process";
import type { McpEntry } from "./mcp-json.ts";
import type { Terminal } from "./terminal.ts";

/** Lets Claude Code itself add or remove the server, since its own files are its own business. */
export async function claudeCode(
  terminal: Terminal,
  scope: "local" | "user",
  entry: McpEntry | undefined,
  { print }: { print: boolean },
): Promise<number> {
  const { stdout } = terminal;
  const args = entry
    ? ["mcp", "add", "--scope", scope, "codecell", "--", entry.command, ...entry.args]
    : ["mcp", "remove", "--scope", scope, "codecell"];
  const command = ["claude", ...args].map(quoted).join(" ");
  if (print) {
    stdout.write(`would run: ${command}\n`);
    return 0;
  }
  const known = await run(terminal, ["mcp", "get", "codecell"]);
  if (known === "missing") {
    stdout.write(`Claude Code is not installed here; with it, run:\n${command}\n`);
    return 0;
  }
  const isThere = known.code === 0;
  if (isThere === (entry !== undefined)) {
    stdout.write(`nothing to do: Claude Code ${isThere ? "knows codecell already" : "does not know codecell"}\n`);
    return 0;
  }
  stdout.write(`running: ${command}\n`);
  const done = await run(terminal, args);
  if (done === "missing") return 1;
  stdout.write(done.output);
  return done.code === 0 ? 0 : 1;
}

function run(terminal: Terminal, args: string[]): Promise<{ code: number; output: string } | "missing"> {
  return new Promise((resolve, reject) => {
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    const child = spawn("claude", args, { cwd: terminal.cwd, env: terminal.env, stdio, timeout: 30_000 });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (bytes) => {
        output = (output + bytes).slice(0, 10_000);
      });
    }
    child.on("error", (error: NodeJS.ErrnoException) => (error.code === "ENOENT" ? resolve("missing") : reject(error)));
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

/** For a shell that a person pastes it into. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
