import { once } from "node:events";
import { resolve } from "node:path";
import { Cleanup } from "../../../lib/cleanup.ts";
import { deadline } from "../../../lib/deadline.ts";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import { writableHostPaths } from "../../../policy/paths/host-grants.ts";
import type { Policy } from "../../../policy/schema.ts";
import { duration } from "../../../policy/units.ts";
import { auditDirectory } from "../../../service/audit/audit-files.ts";
import { openLinkKey } from "../../../service/links/link-key.ts";
import { publishService } from "../../../service/links/published-service.ts";
import { hasModel, modelSource } from "../../../service/rlm/model-source.ts";
import { codecellVersion } from "../../../service/version.ts";
import { Codecell } from "../../../sessions/codecell.ts";
import { namingOuterSandbox } from "../../../sessions/outer-sandbox.ts";
import type { HttpLimits } from "../../http/limits.ts";
import { type Listener, listen } from "../../http/listen.ts";
import { openApiDocument } from "../../http/openapi.ts";
import { routes } from "../../http/routes.ts";
import { HttpService } from "../../http/service.ts";
import { mcpMount } from "../../mcp/http-handler.ts";
import type { CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
import { isReloadSignal, PolicyReloader } from "../policy/reload-policy.ts";
import { parseArguments } from "../shell/arguments.ts";
import { commandAudit } from "../shell/command-audit.ts";
import { type CommandLogger, openCommandLogger } from "../shell/command-logger.ts";
import { modelChoice } from "../shell/model-options.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { keepTokenFile } from "./keep-token-file.ts";
import { parsePort, parseToolset } from "./mcp-options.ts";
import { projectDirectory } from "./project-directory.ts";
import { limitsJson, parseLimits } from "./serve-limits.ts";
import { isLoopback, parsePublicUrl, type ServeFlags, serveOptions } from "./serve-options.ts";
import { type ServedTokens, servedTokens } from "./serve-tokens.ts";

const defaultPort = "7410";
/** Time to save sessions and close cells after the drain. */
const leaveWithinMs = 20_000;
/** Time to send the last responses after everything has stopped. */
const flushMs = 2_000;

/** Serves until a signal arrives, then drains, saves and exits. */
export async function serveHttp(argv: readonly string[], context: CommandContext): Promise<number> {
  const { terminal } = context;
  const { values: flags } = parseArguments("serve", argv, serveOptions, 0);
  if (flags["print-openapi"]) {
    terminal.stdout.write(`${JSON.stringify(openApiDocument(routes, codecellVersion()), null, 2)}\n`);
    return 0;
  }
  using logger = openCommandLogger(flags, terminal);
  const drainMs = parseDrain(flags.drain);
  const limits = parseLimits(flags);
  await using cleanup = new Cleanup();
  const tokens = await servedTokens(flags, terminal);
  const { service, listener } = await start(flags, context, { tokens, limits, logger, cleanup });
  const reloader = new PolicyReloader(async () => (await effectivePolicy(flags, terminal)).policy, logger);
  const stopped = firstSignal(context, () => void reloader.reload(service.codecell));
  await announce(flags, context, { listener, tokens, limits, logger, cleanup });
  logger.announce(`${await stopped.signal}: waiting for runs to finish, then saving sessions`);
  const exit = setTimeout(() => terminal.exitNow(1), drainMs + leaveWithinMs).unref();
  await leave(service, listener, drainMs);
  await cleanup[Symbol.asyncDispose]().catch((error: unknown) => {
    logger.error("some resources could not be closed", { error: messageOf(error) });
  });
  clearTimeout(exit);
  stopped[Symbol.dispose]();
  logger.announce("stopped");
  return 0;
}

interface Start {
  readonly tokens: ServedTokens;
  readonly limits: HttpLimits;
  readonly logger: CommandLogger;
  readonly cleanup: Cleanup;
}

async function start(
  flags: ServeFlags,
  { terminal, runners }: CommandContext,
  { tokens, limits, logger, cleanup }: Start,
) {
  const host = flags.host ?? "127.0.0.1";
  const port = parsePort(flags.port ?? defaultPort);
  const publicUrl = flags["public-url"] === undefined ? undefined : parsePublicUrl(flags["public-url"]);
  if (flags["open-metrics"] && publicUrl !== undefined) {
    throw new CodecellError(
      "usage",
      "--open-metrics with --public-url would expose the metrics to everyone: requests through a proxy also come from this machine",
      {
        hint: "create a token for them: `codecell token create prometheus --scopes metrics`",
      },
    );
  }
  const effective = await effectivePolicy(flags, terminal);
  const { policy } = effective;
  assertPrivate(policy, tokens.store.isShared);
  const runtimeDir = runtimeDirOf(flags, terminal);
  const stateDir = stateDirOf(flags, terminal);
  const choice = modelChoice(flags, terminal);
  const models = hasModel(terminal.env, choice, policy);
  const codecell = await Codecell.open({
    ...{ policy, runners: await runners(logger), stateDir, logger },
    audit: await commandAudit(effective, flags, terminal, logger, { hasTenants: true }),
    ...{ hostCalls: { models }, heldBy: "serve" },
    ...(runtimeDir === undefined ? {} : { runtimeDir }),
  }).catch(async (error: unknown) => {
    throw await namingOuterSandbox(error, terminal.env);
  });
  cleanup.defer(() => codecell[Symbol.asyncDispose]());
  await makeDirectories(stateDir, 0o700);
  const publicName = publicUrl === undefined ? [] : [new URL(publicUrl).hostname];
  const service = new HttpService({
    ...{ codecell, tokens: tokens.store, linkKey: await openLinkKey(stateDir), logger, publicUrl },
    mount: mcpMount({
      ...{ tools: parseToolset(flags.tools), structured: flags.structured === true, logger, hasModel: models },
    }),
    models: modelSource(terminal.env, choice),
    projectDir: projectDirectory(terminal),
    ...{ stateDir, limits },
    auditDir: policy.audit.enabled ? auditDirectory(stateDir) : undefined,
    hostNames: [...(isWildcard(host) ? [] : [host]), ...publicName, ...(flags["allow-host"] ?? [])],
    openMetrics: flags["open-metrics"] === true,
  });
  cleanup.defer(() => service[Symbol.asyncDispose]());
  const listener = await listen(service, { host, port });
  cleanup.defer(() => listener.end());
  const url = service.links.baseUrl;
  const published = await publishService({ stateDir, runtimeDir, url });
  cleanup.defer(() => published[Symbol.asyncDispose]());
  return { service, listener };
}

/** The attack: if all sessions share one directory, a tenant reads and writes the files of another tenant. */
function assertPrivate(policy: Policy, isShared: boolean): void {
  if (!isShared || writableHostPaths(policy).length === 0) return;
  throw new CodecellError("policy_refused", "several tokens would share a writable directory of this host", {
    hint: "remove fs.workspace and writable mounts from the policy, or serve a single user with CODECELL_TOKEN",
    details: { rule: "fs.workspace" },
  });
}

async function announce(
  flags: ServeFlags,
  { terminal }: CommandContext,
  { listener, tokens, limits, logger, cleanup }: Start & { readonly listener: Listener },
): Promise<void> {
  const { url, port } = listener;
  const host = flags.host ?? "127.0.0.1";
  if (!isLoopback(host)) {
    logger.announce(
      `warning: plain HTTP on ${host}: others on the network can read tokens and code. Put a TLS proxy in front (docs/http.md).`,
    );
  }
  const made = tokens.made && { token: tokens.made, server: "serve" as const, port };
  const tokenFile = made && (await keepTokenFile({ ...made, runtimeDir: runtimeDirOf(flags, terminal) }, cleanup));
  if (flags.json) {
    const shown = tokenFile === undefined ? {} : { token: tokens.made, token_file: tokenFile };
    terminal.stdout.write(jsonText({ url, api: `${url}/v1`, mcp: `${url}/mcp`, limits: limitsJson(limits), ...shown }));
  } else if (tokenFile !== undefined) {
    // Logs are kept and shared, so the token itself is shown only to people.
    if (!logger.ownsStderr) terminal.stderr.write(`codecell: token ${tokens.made} (also in ${tokenFile})\n`);
    logger.background.info("created a token", { file: tokenFile });
  }
  logger.announce(`serving ${url}/v1, MCP on ${url}/mcp`);
}

/** Refuses new work at once, waits for running work, then stops it and answers the clients that are waiting. */
async function leave(service: HttpService, listener: Listener, drainMs: number): Promise<void> {
  listener.stop();
  await drained(service, drainMs);
  await service[Symbol.asyncDispose]();
  await drained(service, flushMs);
}

async function drained(service: HttpService, withinMs: number): Promise<void> {
  using limit = deadline(withinMs);
  await Promise.race([service.drain(), once(limit.signal, "abort")]);
}

/** The first signal that is not a reload requests a shutdown; the next one exits at once. */
function firstSignal(
  { terminal }: CommandContext,
  reload: () => void,
): Disposable & { readonly signal: Promise<string> } {
  let listening: Disposable | undefined;
  const signal = new Promise<string>((resolve) => {
    let count = 0;
    listening = terminal.onSignal((name) => {
      if (isReloadSignal(name, terminal)) return reload();
      if (count++ > 0) terminal.exitNow(1);
      resolve(name);
    });
  });
  return { signal, [Symbol.dispose]: () => listening?.[Symbol.dispose]() };
}

function runtimeDirOf(flags: ServeFlags, terminal: Terminal): string | undefined {
  const named = flags["runtime-dir"];
  return named === undefined ? undefined : resolve(terminal.cwd, named);
}

function parseDrain(text: string | undefined): number {
  const parsed = duration().safeParse(text ?? "10s");
  if (parsed.success && parsed.data <= 3_600_000) return parsed.data;
  throw new CodecellError("usage", `--drain ${text} is not a valid duration`, {
    hint: "use a value such as 10s, at most 1h",
  });
}

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}
