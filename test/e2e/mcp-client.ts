import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, type ProtocolEra, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { launcher } from "./codecell-process.ts";

export type Over = "stdio" | "http";

/** A tool's answer, typed loosely, as a model sees it. */
export interface Answer {
  readonly facts: Record<string, unknown>;
  readonly text: string;
  readonly types: string[];
  readonly isError: boolean;
  readonly content: { type: string; [key: string]: unknown }[];
}

export type CallOptions = NonNullable<Parameters<Client["callTool"]>[1]>;

/** A real server process and a real client, with their own project and state directories. */
export class McpPair implements AsyncDisposable {
  readonly client: Client;
  readonly directories: TestDirectories;
  /** of the server process */
  pid: number;
  /** how often the server announced changed resources */
  resourceChanges = 0;
  readonly #server: ChildProcess | undefined;

  private constructor(era: ProtocolEra, directories: TestDirectories, server?: ChildProcess) {
    this.client = newClient(era, () => {
      this.resourceChanges++;
    });
    this.directories = directories;
    this.pid = server?.pid ?? 0;
    this.#server = server;
  }

  /** `env` adds to the server's variables over stdio. */
  static async open(
    over: Over,
    era: ProtocolEra,
    args: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<McpPair> {
    const directories = await newTestDirectories();
    if (over === "http") return McpPair.#openHttp(era, directories, args);
    const pair = new McpPair(era, directories);
    const transport = new StdioClientTransport({
      ...{ command: process.execPath, args: serverArguments(directories, args), cwd: directories.project },
      ...{ env: { ...environment(), ...env, CODECELL_TEST_TAG: directories.tag }, stderr: "inherit" },
    });
    await pair.client.connect(transport);
    pair.pid = transport.pid ?? 0;
    return pair;
  }

  static async #openHttp(era: ProtocolEra, directories: TestDirectories, args: readonly string[]): Promise<McpPair> {
    const server = startHttp(directories, args);
    const { url, token } = await httpAddress(server);
    const pair = new McpPair(era, directories, server);
    await pair.client.connect(bearerTransport(url, token));
    return pair;
  }

  async call(name: string, args: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Answer> {
    const reply = await this.client.callTool({ name, arguments: args }, options);
    const content = reply.content as Answer["content"];
    return {
      facts: (reply.structuredContent ?? {}) as Record<string, unknown>,
      text: content.map((block) => (typeof block.text === "string" ? block.text : "")).join(""),
      types: content.map(({ type }) => type),
      isError: reply.isError === true,
      content,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    if (this.#server) await stopped(this.#server);
    await removeTestDirectories(this.directories);
  }
}

export interface TestDirectories {
  readonly top: string;
  readonly project: string;
  readonly state: string;
  readonly tag: string;
}

/** Under root, cells run under another uid and must enter these directories. */
export async function newTestDirectories(): Promise<TestDirectories> {
  const top = await mkdtemp(join(tmpdir(), "codecell-mcp-"));
  await chmod(top, 0o711);
  await mkdir(join(top, "project"), { mode: 0o755 });
  return { top, project: join(top, "project"), state: join(top, "state"), tag: top };
}

export async function removeTestDirectories({ top }: TestDirectories): Promise<void> {
  await rm(top, { recursive: true, force: true });
}

export function newClient(era: ProtocolEra, onResourcesChanged = () => {}): Client {
  const mode = era === "legacy" ? "legacy" : { pin: "2026-07-28" };
  const resources = { autoRefresh: false, debounceMs: 0, onChanged: onResourcesChanged };
  return new Client(
    { name: "codecell-test", version: "1" },
    { versionNegotiation: { mode }, listChanged: { resources } },
  );
}

/** The state directory is the test's own, unless the arguments name another one. */
export function serverArguments({ state }: TestDirectories, args: readonly string[] = []): string[] {
  return [launcher, "mcp", ...(args.includes("--state-dir") ? [] : ["--state-dir", state]), ...args];
}

export function startHttp(directories: TestDirectories, args: readonly string[] = []): ChildProcess {
  const all = serverArguments(directories, ["--http", ...args]);
  return spawn(process.execPath, all, {
    cwd: directories.project,
    env: environment(),
    stdio: ["ignore", "ignore", "pipe"],
  });
}

/** Reads the address and the token from what the server prints. */
export function httpAddress(server: ChildProcess): Promise<{ url: URL; token: string; tokenFile: string }> {
  return new Promise((resolve, reject) => {
    let printed = "";
    server.stderr?.on("data", (bytes) => {
      printed += bytes;
      const url = /MCP on (\S+)/.exec(printed)?.[1];
      const [, token = "", tokenFile = ""] = /token (\S+) \(also in (\S+)\)/.exec(printed) ?? [];
      if (url !== undefined) resolve({ url: new URL(url), token, tokenFile });
    });
    server.once("exit", () => reject(new Error(`the server ended: ${printed}`)));
  });
}

export function bearerTransport(url: URL, token: string): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } });
}

export async function stopped(server: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill(signal);
  await ended;
}

function environment(): Record<string, string> {
  const {
    CLAUDE_PROJECT_DIR: _,
    CODECELL_POLICY: __,
    CODECELL_MODEL: ___,
    ANTHROPIC_API_KEY: ____,
    ...rest
  } = process.env;
  return Object.fromEntries(
    Object.entries(rest).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
