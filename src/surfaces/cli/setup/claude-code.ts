import { spawn } from "node:child_process";
import { killAfter } from "../../../lib/kill-after.ts";
import type { Terminal } from "../shell/terminal.ts";
import type { McpEntry } from "./mcp-json.ts";
import type { SetupReport } from "./setup-report.ts";

/** how long one call of `claude` may take */
const limitMs = 30_000;

type Scope = "local" | "user";

/** Adds or removes the server with the `claude` command, because only Claude Code may edit its own files. */
export async function claudeCode(
  terminal: Terminal,
  scope: Scope,
  entry: McpEntry | undefined,
  { print, report }: { print: boolean; report: SetupReport },
): Promise<number> {
  const change = entry ? addition(scope, entry) : removal(scope);
  if (print) {
    report.tell({ step: "would run", command: shellCommand(change) });
    return 0;
  }
  const done = await run(terminal, change);
  if (done === "missing") {
    report.tell({ step: "not installed", command: shellCommand(change) });
    return 0;
  }
  if (entry === undefined) {
    if (!done.output.includes("No MCP server named")) return outcome(report, change, done);
    report.tell({ step: "unchanged", why: `codecell is not registered in the ${scope} scope of Claude Code` });
    return 0;
  }
  if (done.code !== 0 && done.output.includes("already exists")) return replace(terminal, scope, entry, report);
  return outcome(report, change, done) || confirm(terminal, entry);
}

/** Replaces an existing server of this name if it starts another way: it may lack the policy or the wrap. */
async function replace(terminal: Terminal, scope: Scope, entry: McpEntry, report: SetupReport): Promise<number> {
  const known = await run(terminal, ["mcp", "get", "codecell"]);
  if (known !== "missing" && isOf(scope, known.output) && startsAs(entry, known.output)) {
    report.tell({ step: "unchanged", why: "codecell is already registered in Claude Code" });
    return 0;
  }
  for (const change of [removal(scope), addition(scope, entry)]) {
    if (outcome(report, change, await run(terminal, change)) !== 0) return 1;
  }
  return confirm(terminal, entry);
}

/** Checks that Claude Code starts the new server. A server in a narrower scope overrides it. */
async function confirm(terminal: Terminal, entry: McpEntry): Promise<number> {
  const now = await run(terminal, ["mcp", "get", "codecell"]);
  if (now !== "missing" && startsAs(entry, now.output)) return 0;
  terminal.stderr.write("codecell: Claude Code still starts another codecell; see `claude mcp get codecell`\n");
  return 1;
}

/** Whether the output shows this scope. Claude Code shows only the scope in force; a hidden one is written again. */
function isOf(scope: Scope, shown: string): boolean {
  const named = shownValue("Scope", shown)?.toLowerCase();
  return named === undefined || named.startsWith(scope);
}

/** Whether `claude mcp get` shows this command. Output without a command counts as a match. */
function startsAs({ command, args }: McpEntry, shown: string): boolean {
  const named = shownValue("Command", shown);
  return named === undefined || (named === command && (shownValue("Args", shown) ?? "") === args.join(" "));
}

function shownValue(name: string, shown: string): string | undefined {
  return new RegExp(`^ *${name}: *(.*?) *$`, "m").exec(shown)?.[1];
}

function addition(scope: Scope, { command, args }: McpEntry): string[] {
  return ["mcp", "add", "--scope", scope, "codecell", "--", command, ...args];
}

function removal(scope: Scope): string[] {
  return ["mcp", "remove", "--scope", scope, "codecell"];
}

type Done = { readonly code: number; readonly output: string } | "missing";

function outcome(report: SetupReport, change: readonly string[], done: Done): number {
  if (done === "missing") return 1;
  report.tell({ step: "ran", command: shellCommand(change), output: done.output });
  return done.code === 0 ? 0 : 1;
}

function run(terminal: Terminal, args: string[]): Promise<Done> {
  return new Promise((resolve, reject) => {
    const stdio: ["ignore", "pipe", "pipe"] = ["ignore", "pipe", "pipe"];
    const child = spawn("claude", args, { cwd: terminal.cwd, env: terminal.env, stdio });
    killAfter(child, limitMs);
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

/** The command, quoted for a shell. */
function shellCommand(args: readonly string[]): string {
  return ["claude", ...args].map(quoted).join(" ");
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
