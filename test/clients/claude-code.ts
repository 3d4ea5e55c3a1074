import { mkdir, rm, symlink } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { newTestDirectories, serverArguments, type TestDirectories } from "../e2e/mcp-client.ts";
import { installed } from "./installed.ts";
import { type Ended, runToEnd, startProgram } from "./run-to-end.ts";
import {
  type SeenResult,
  startScriptedMessagesApi,
  type ToolDefinition,
  type ToolUse,
  type Turn,
} from "./scripted-messages-api.ts";

/** A separate home, project and state directory, with the real `claude` first on the PATH. */
export interface ClaudeHome extends TestDirectories, AsyncDisposable {
  readonly env: Record<string, string>;
}

/** Sets Claude Code's whole environment: nothing of the user's, and no address but loopback. */
export async function newClaudeHome(): Promise<ClaudeHome> {
  const directories = await newTestDirectories();
  const bin = join(directories.top, "bin");
  await mkdir(bin);
  await symlink(installed.claude, join(bin, "claude"));
  const home = join(directories.top, "home");
  await mkdir(home);
  const temporary = join(directories.top, "tmp");
  await mkdir(temporary, { mode: 0o711 });
  const env = {
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(delimiter),
    HOME: home,
    TMPDIR: temporary,
    CLAUDE_CODE_TMPDIR: temporary,
    CLAUDE_CONFIG_DIR: join(home, ".claude"),
    XDG_STATE_HOME: directories.state,
    ANTHROPIC_API_KEY: "none-needed",
    ANTHROPIC_BASE_URL: "http://127.0.0.1:9", // nobody listens there: only a scripted API answers
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    DISABLE_TELEMETRY: "1",
    DISABLE_ERROR_REPORTING: "1",
    DISABLE_AUTOUPDATER: "1",
    // Claude Code starts without an MCP server that takes longer than this. On a busy machine that is ours.
    CLAUDE_CODE_MCP_STARTUP_WAIT_MS: "60000",
    MCP_TIMEOUT: "60000",
  };
  return { ...directories, env, [Symbol.asyncDispose]: () => rm(directories.top, { recursive: true, force: true }) };
}

export interface Conversation {
  /** what the model saw for each tool call */
  readonly seen: readonly SeenResult[];
  readonly offered: readonly string[];
  readonly definitions: readonly ToolDefinition[];
  readonly briefing: string;
  /** the model's last message, as Claude Code printed it */
  readonly printed: string;
}

/** Plays a script to the real Claude Code, and waits until it exits. */
export async function converse(
  home: ClaudeHome,
  turns: readonly Turn[],
  args?: readonly string[],
): Promise<Conversation> {
  await using api = await startScriptedMessagesApi(turns);
  const { code, stdout, stderr } = await startClaude(home, api.url, args).ended;
  if (api.failure) throw api.failure;
  if (code !== 0) throw new Error(`claude ended with ${code}: ${stdout}${stderr}`);
  const unknown = [...api.paths].filter((path) => !path.startsWith("/v1/messages"));
  if (unknown.length > 0) throw new Error(`Claude Code asked for ${unknown}`);
  const printed = JSON.parse(stdout) as { result: string };
  const { seen, offered, definitions, briefing } = api;
  return { seen, offered, definitions, briefing, printed: printed.result };
}

/**
 * Plays several scripts in one conversation, one after the other. Each turn gets the results of its own script. `last` is the
 * model's last message, given all results.
 */
export async function converseAll<Name extends string>(
  home: ClaudeHome,
  scripts: Readonly<Record<Name, readonly Turn[]>>,
  last: (seen: readonly SeenResult[]) => string = () => "That was all.",
): Promise<Conversation & { readonly seenIn: (script: Name) => readonly SeenResult[] }> {
  const names = Object.keys(scripts) as Name[];
  /** how many results there were before each script */
  const before = new Map<Name, number>();
  const turns = names.flatMap((name) =>
    scripts[name].map((turn, at): Turn => {
      return (seen) => {
        if (at === 0) before.set(name, seen.length);
        return turn(seen.slice(before.get(name)));
      };
    }),
  );
  const talk = await converse(home, [...turns, last]);
  const seenIn = (script: Name) => {
    const next = names[names.indexOf(script) + 1];
    return talk.seen.slice(before.get(script), next && before.get(next));
  };
  return { ...talk, seenIn };
}

/** A call to a tool of this server. */
export function call(tool: string, input: Record<string, unknown>): ToolUse {
  return { name: `mcp__codecell__${tool}`, input };
}

/** The text of a result, without the blocks for files. */
export function textOf(result: SeenResult | undefined): string {
  const texts = result?.texts.filter((text) => !text.startsWith("[Resource link: ")) ?? [];
  return texts.join("\n").trimEnd(); // the client ends results with empty lines
}

/** The id of a session or run that a text names. */
export function idIn(result: SeenResult | undefined, name: "session_id" | "run_id"): string {
  const id = new RegExp(`${name}: ([\\w-]+)`).exec(textOf(result))?.[1];
  if (id === undefined) throw new Error(`no ${name} in ${textOf(result)}`);
  return id;
}

/** Structured content. Claude Code shows it to the model as JSON, before or after the other blocks. */
export function factsOf(result: SeenResult | undefined): Record<string, unknown> {
  const json = result?.texts.find((text) => text.startsWith("{"));
  if (json === undefined) throw new Error(`no facts in ${JSON.stringify(result?.texts)}`);
  return JSON.parse(json);
}

/** Starts `claude -p`, by default with only this server and without Claude Code's own tools. */
export function startClaude(home: ClaudeHome, apiUrl: string, args?: readonly string[]) {
  const given = args ?? [...onlyServer({ codecell: stdioServer(home) }), "--tools", ""];
  const all = ["-p", "go", "--model", "claude-sonnet-4-5", "--output-format", "json", ...given];
  const env = { ...home.env, ANTHROPIC_BASE_URL: apiUrl };
  return startProgram(installed.claude, all, { cwd: home.project, env });
}

/** The flags for only these servers, with all of their tools allowed. */
export function onlyServer(mcpServers: { codecell: object }): string[] {
  return ["--strict-mcp-config", "--mcp-config", JSON.stringify({ mcpServers }), "--allowedTools", "mcp__codecell"];
}

export function stdioServer(directories: TestDirectories, more: readonly string[] = []): object {
  return { command: process.execPath, args: [...serverArguments(directories), ...more] };
}

/** Runs one `claude` command, such as `mcp get codecell`, until it exits. */
export function claude({ project, env }: ClaudeHome, ...args: string[]): Promise<Ended> {
  return runToEnd(installed.claude, args, { cwd: project, env });
}
