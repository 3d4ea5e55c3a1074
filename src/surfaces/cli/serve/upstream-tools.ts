import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import type { FunctionFacts } from "../../../service/tools/policy-facts.ts";
import { parseServers } from "../../../service/upstreams/server-config.ts";
import { SessionTools } from "../../../service/upstreams/session-tools.ts";
import { Upstreams } from "../../../service/upstreams/upstreams.ts";
import type { Session } from "../../../sessions/session.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import type { Terminal } from "../shell/terminal.ts";
import { knownFunctions, rememberFunctions } from "./known-functions.ts";
import type { McpFlags } from "./mcp-options.ts";

/** The same name as `upstreamVariable`, without importing the MCP client. */
const upstreamVariable = "CODECELL_UPSTREAM";

/** The tools of other MCP servers, for the sessions of one server. */
export interface UpstreamTools extends AsyncDisposable {
  /** what a model learns about the functions; undefined: there are none */
  readonly facts: FunctionFacts | undefined;
  /** Starts the servers, without waiting for them. */
  start(): void;
  prepare(session: Session): Promise<void>;
}

interface Context {
  readonly terminal: Terminal;
  readonly logger: CommandLogger;
  /** whether the policy permits any tool; undefined: it could not be read, or permits none */
  readonly permitsTools: boolean | undefined;
}

/** Reads the file, and connects to nothing yet. Throws `usage` for a file that does not describe servers. */
export async function openUpstreamTools(file: string, flags: McpFlags, context: Context): Promise<UpstreamTools> {
  const { terminal, logger, permitsTools = false } = context;
  if (terminal.env[upstreamVariable]) {
    throw new CodecellError("usage", "--tools-from does not work in a server that codecell itself started", {
      hint: "remove this server from the file of --tools-from, or --tools-from from its arguments",
    });
  }
  const servers = parseServers(await textOf(resolve(terminal.cwd, file)), file, terminal.env);
  const upstreams = new Upstreams({
    ...{ servers, logger },
    connect: async (config, options) =>
      (await import("../../mcp/connect-upstream.ts")).connectUpstream(config, options),
  });
  if (!permitsTools) logger.warn("tools.allow of the policy permits no tool of these servers", { file });
  let lines = permitsTools ? await knownFunctions(flags, terminal) : {};
  const sessions = new SessionTools(upstreams, {
    logger,
    onFunctions(found) {
      lines = found;
      rememberFunctions(found, flags, terminal).catch((error: unknown) => {
        logger.debug("the names of functions could not be kept", { error: messageOf(error) });
      });
    },
  });
  return {
    get facts() {
      return permitsTools ? { servers: servers.map(({ name }) => name), lines } : undefined;
    },
    start: () => {
      if (permitsTools) upstreams.start();
    },
    prepare: (session) => sessions.prepare(session),
    [Symbol.asyncDispose]: () => upstreams[Symbol.asyncDispose](),
  };
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new CodecellError("usage", `${path} cannot be read`, { cause, hint: "check the path after --tools-from" });
  }
}
