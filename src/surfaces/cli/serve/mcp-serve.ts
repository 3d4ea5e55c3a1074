import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Cleanup } from "../../../lib/cleanup.ts";
import { messageOf } from "../../../lib/errors.ts";
import { stateDirectory } from "../../../lib/files/state-directory.ts";
import { LazySandbox } from "../../../service/lazy-sandbox.ts";
import { modelSource } from "../../../service/rlm/model-source.ts";
import { serveFront } from "../../mcp/front/front.ts";
import type { McpServerOptions } from "../../mcp/server.ts";
import type { CommandContext } from "../command.ts";
import { isReloadSignal } from "../policy/reload-policy.ts";
import { parseArguments } from "../shell/arguments.ts";
import { clientGone } from "../shell/client-gone.ts";
import { type CommandLogger, openCommandLogger } from "../shell/command-logger.ts";
import { modelChoice } from "../shell/model-options.ts";
import type { Terminal } from "../shell/terminal.ts";
import { rememberPython } from "./known-python.ts";
import { assertHttpFlags, type McpFlags, mcpOptions, parsePort, parseToolset } from "./mcp-options.ts";
import { mcpOutlook } from "./mcp-outlook.ts";
import { projectDirectory } from "./project-directory.ts";

/** After the client disconnects, every cell is closed within 3 s, saved or not. */
const leaveWithinMs = 2_700;

/** For people who start it by hand. */
const forPeople =
  "codecell: waiting for an MCP client on standard input; docs/clients.md shows how to add this server to one. Press Ctrl-C to exit.\n";

export interface McpContext {
  readonly terminal: Terminal;
  /** loaded by the first tool that needs it */
  readonly runners: () => Promise<CommandContext["runners"]>;
}

/** Serves until the client is gone. The first tool call imports what it needs, so listing the tools is cheap. */
export async function serveMcp(argv: readonly string[], { terminal, runners }: McpContext): Promise<number> {
  const { values: flags } = parseArguments("mcp", argv, mcpOptions, 0);
  const toolset = parseToolset(flags.tools);
  const port = parsePort(flags.port);
  assertHttpFlags(flags);
  await checkPolicyFlags(flags, terminal);
  using logger = openCommandLogger(flags, terminal);
  const outlook = await mcpOutlook(flags, terminal);
  const options = {
    ...{ tools: toolset, structured: flags.structured === true, logger },
    hasModel: outlook.hasModel === true,
  };
  await using cleanup = new Cleanup();
  const tools = await upstreamTools(flags, { terminal, logger, permitsTools: outlook.permitsTools });
  if (tools) cleanup.defer(() => tools[Symbol.asyncDispose]());
  let reload = () => {}; // before the first tool call there is no policy to reload
  const sandbox = new LazySandbox({
    projectDir: projectDirectory(terminal),
    ...{ effects: outlook.effects, ...(outlook.facts ? { facts: outlook.facts } : {}) },
    models: modelSource(terminal.env, modelChoice(flags, terminal)),
    trajectories: trajectoriesOf(flags, terminal),
    ...(tools ? { prepareRun: (session) => tools.prepare(session), functions: () => tools.facts } : {}),
    onPython(python) {
      if (isDeepStrictEqual(python, outlook.facts?.python)) return;
      rememberPython(python, flags, terminal).catch((error: unknown) => {
        logger.debug("what Python has could not be kept", { error: messageOf(error) });
      });
    },
    async open() {
      const { openMcpManager, mcpReloader } = await import("./mcp-open.ts");
      const manager = await openMcpManager(flags, { terminal, runners: await runners() }, logger);
      const reloader = mcpReloader(flags, terminal, logger);
      reload = () => void reloader.reload(manager);
      return manager;
    },
    async links({ key, record: { workspace } }) {
      const { linksTo } = await import("../sessions/links-to.ts");
      return linksTo({ id: key, workspace }, flags, terminal);
    },
  });
  cleanup.defer(() => sandbox[Symbol.asyncDispose]());
  const gone = clientGone(terminal, flags.http ? "http" : "stdio", (signal) => {
    // Over stdio, SIGHUP means that the client is gone.
    if (!flags.http || !isReloadSignal(signal, terminal)) return false;
    reload();
    return true;
  });
  if (flags.http) await serveHttp(sandbox, options, { flags, port, terminal, logger }, cleanup);
  else {
    if (terminal.stdin.isTTY) terminal.stderr.write(forPeople);
    const connection = await serveFront(sandbox, options);
    cleanup.defer(() => connection[Symbol.asyncDispose]());
  }
  tools?.start(); // after the server listens: its start must not wait for others
  logger.debug("leaving", { why: await gone });
  setTimeout(() => terminal.exitNow(0), leaveWithinMs).unref();
  await cleanup[Symbol.asyncDispose]().catch((error: unknown) => {
    logger.error("some resources could not be closed", { error: messageOf(error) });
  });
  terminal.exitNow(0); // an open standard input would keep the process alive
  return 0;
}

function trajectoriesOf(flags: McpFlags, { cwd, env }: Terminal): string {
  const named = flags["state-dir"];
  return join(named === undefined ? stateDirectory(env) : resolve(cwd, named), "trajectories");
}

/** The other MCP servers, if the operator named any. */
async function upstreamTools(
  flags: McpFlags,
  context: { terminal: Terminal; logger: CommandLogger; permitsTools: boolean | undefined },
) {
  if (flags["tools-from"] === undefined) return undefined;
  const { openUpstreamTools } = await import("./upstream-tools.ts");
  return openUpstreamTools(flags["tools-from"], flags, context);
}

interface HttpRequest {
  readonly flags: McpFlags;
  readonly port: number;
  readonly terminal: Terminal;
  readonly logger: CommandLogger;
}

/** Reports an invalid flag now, not with every tool call. */
async function checkPolicyFlags(flags: McpFlags, terminal: Terminal): Promise<void> {
  const { runner, timeout, memory, mount } = flags;
  if ([runner, timeout, memory, mount].every((flag) => flag === undefined)) return;
  const { flagsToOverride } = await import("../policy/policy-flags.ts");
  flagsToOverride(flags, terminal.cwd);
}

/** The HTTP surface with nothing but MCP on it, for one user. */
async function serveHttp(sandbox: LazySandbox, options: McpServerOptions, request: HttpRequest, cleanup: Cleanup) {
  const { flags, port, terminal, logger } = request;
  const { newTokenText } = await import("../../../service/tenants/new-token.ts");
  const { listen } = await import("../../http/listen.ts");
  const { MountServer } = await import("../../http/mount-server.ts");
  const { mcpMount } = await import("../../mcp/http-handler.ts");
  const tokenFile = flags["token-file"];
  const token = tokenFile === undefined ? newTokenText() : await tokenOf(resolve(terminal.cwd, tokenFile));
  const host = flags.host ?? "127.0.0.1";
  const server = new MountServer({ sandbox, token, mount: mcpMount(options), hostNames: [host], logger });
  const listener = await listen(server, { host, port });
  cleanup.defer(() => listener.end());
  cleanup.defer(() => server[Symbol.asyncDispose]());
  if (tokenFile === undefined) {
    const { keepTokenFile } = await import("./keep-token-file.ts");
    const named = flags["runtime-dir"];
    const runtimeDir = named === undefined ? undefined : resolve(terminal.cwd, named);
    const file = await keepTokenFile({ token, server: "mcp", port: listener.port, runtimeDir }, cleanup);
    // Logs are kept and shared, so the token itself is shown only to people.
    if (!logger.ownsStderr) terminal.stderr.write(`codecell: token ${token} (also in ${file})\n`);
    logger.background.info("created a token", { file });
  }
  logger.announce(`MCP on ${listener.url}/mcp`);
}

async function tokenOf(path: string): Promise<string> {
  const { readTokenFile } = await import("../../../service/tenants/token-file.ts");
  return readTokenFile(path);
}
