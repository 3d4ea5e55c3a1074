import { once } from "node:events";
import { resolve } from "node:path";
import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import { deadline } from "../../../lib/waiting/deadline.ts";
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
import type { Database } from "../../../store/postgres/database.ts";
import type { HttpLimits } from "../../http/limits.ts";
import { type Listener, listen, localUrl } from "../../http/listen.ts";
import { openApiDocument } from "../../http/openapi.ts";
import { routes } from "../../http/routes.ts";
import { HttpService } from "../../http/service.ts";
import { mcpMount } from "../../mcp/http-handler.ts";
import type { CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
import { isReloadSignal, PolicyReloader } from "../policy/reload-policy.ts";
import { twoPlaces } from "../sessions/open-tokens.ts";
import { parseArguments } from "../shell/arguments.ts";
import { asksAgain } from "../shell/asks-again.ts";
import { commandAudit } from "../shell/command-audit.ts";
import { type CommandLogger, openCommandLogger } from "../shell/command-logger.ts";
import { databaseUrlOf } from "../shell/database-options.ts";
import { modelChoice } from "../shell/model-options.ts";
import { stateDirOf } from "../shell/state-dir.ts";
import type { Terminal } from "../shell/terminal.ts";
import { keepTokenFile } from "./keep-token-file.ts";
import { parsePort, parseToolset } from "./mcp-options.ts";
import { openBrowser } from "./open-browser.ts";
import { projectDirectory } from "./project-directory.ts";
import { assertNoGatewayFlags, followMoves, givenGatewayUrl, openGateways, ownAddress } from "./serve-gateways.ts";
import { limitsJson, parseLimits } from "./serve-limits.ts";
import { isLoopback, parsePublicUrl, type ServeFlags, serveOptions } from "./serve-options.ts";
import { type ServedTokens, type ShownToken, servedTokens, tokenFileOf } from "./serve-tokens.ts";

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
  if (flags.open && flags["no-dashboard"]) {
    throw new CodecellError("usage", "--open opens the dashboard, which --no-dashboard turns off", {
      hint: "remove one of the two",
    });
  }
  const drainMs = parseDrain(flags.drain);
  const limits = parseLimits(flags);
  await using cleanup = new Cleanup();
  const { database, leases } = await servedDatabase(flags, terminal, { logger, cleanup });
  const tokens = await servedTokens(flags, terminal, { database, logger, cleanup });
  const { service, listener } = await start(flags, context, { tokens, database, leases, limits, logger, cleanup });
  const reloader = new PolicyReloader(async () => (await effectivePolicy(flags, terminal)).policy, logger);
  const stopped = firstSignal(context, () => void reloader.reload(service.codecell));
  // Nothing refuses the start any more: nobody would see the token, and later starts would keep it.
  const made = await tokens.make();
  await announce(flags, context, { listener, made, database, limits, logger, cleanup });
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
  readonly database: Database | undefined;
  /** connections of the lease of this gateway */
  readonly leases: Database | undefined;
  readonly limits: HttpLimits;
  readonly logger: CommandLogger;
  readonly cleanup: Cleanup;
}

async function start(
  flags: ServeFlags,
  { terminal, runners }: CommandContext,
  { tokens, database, leases, limits, logger, cleanup }: Start,
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
  const gatewayUrl = givenGatewayUrl(flags, terminal);
  const shared = database && leases && (await openGateways(flags, { database, leases }, { logger, cleanup }));
  // Before the codecell, so that it ends after it: the last events have heads too.
  if (database && policy.audit.enabled) {
    const { auditPlace, KeptHeads } = await import("../../../service/audit/kept-heads.ts");
    const heads = new KeptHeads(auditDirectory(stateDir), auditPlace(stateDir), database, logger);
    cleanup.defer(() => heads[Symbol.asyncDispose]());
  }
  const codecell = await Codecell.open({
    ...{ policy, runners: await runners(logger, { runtimeDir }), stateDir, logger },
    audit: await commandAudit(effective, flags, terminal, logger, { hasTenants: true }),
    ...{ hostCalls: { models }, heldBy: "serve", isObservable: true },
    ...(database && shared ? { openedDatabase: database, owners: shared.owners } : {}),
    ...(runtimeDir === undefined ? {} : { runtimeDir }),
  }).catch(async (error: unknown) => {
    throw await namingOuterSandbox(error, terminal.env);
  });
  cleanup.defer(() => codecell[Symbol.asyncDispose]());
  await makeDirectories(stateDir, 0o700);
  const ownNames = [publicUrl, gatewayUrl].flatMap((url) => (url === undefined ? [] : [new URL(url).hostname]));
  const service = new HttpService({
    ...{ codecell, tokens: tokens.store, linkKey: shared?.linkKey ?? (await openLinkKey(stateDir)), logger, publicUrl },
    gateways: shared?.gateways,
    mount: mcpMount({
      ...{ tools: parseToolset(flags.tools), structured: flags.structured === true, logger, hasModel: models },
    }),
    models: modelSource(terminal.env, choice),
    projectDir: projectDirectory(terminal),
    ...{ stateDir, limits },
    auditDir: policy.audit.enabled ? auditDirectory(stateDir) : undefined,
    hostNames: [...(isWildcard(host) ? [] : [host]), ...ownNames, ...(flags["allow-host"] ?? [])],
    openMetrics: flags["open-metrics"] === true,
    dashboard: flags["no-dashboard"] !== true,
  });
  cleanup.defer(() => service[Symbol.asyncDispose]());
  if (database && shared) await followMoves(database, service, { logger, cleanup });
  const listener = await listen(service, { host, port });
  cleanup.defer(() => listener.end());
  const ownUrl = gatewayUrl ?? ownAddress(listener);
  await shared?.gateways.join(ownUrl, codecell);
  if (shared) logger.announce(`gateway ${shared.gateways.lease.id} at ${ownUrl}, with the database ${database?.label}`);
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

/** The database of `--database` and of the environment; undefined: sessions and tokens are in files. */
async function servedDatabase(
  flags: ServeFlags,
  terminal: Terminal,
  { logger, cleanup }: Pick<Start, "logger" | "cleanup">,
): Promise<Pick<Start, "database" | "leases">> {
  if (flags.tokens !== undefined && flags.database !== undefined) throw twoPlaces();
  const url = await databaseUrlOf(flags, terminal);
  if (url === undefined) {
    assertNoGatewayFlags(flags);
    return { database: undefined, leases: undefined };
  }
  const { openDatabase } = await import("../../../store/postgres/open-database.ts");
  const database = await openDatabase(url, { logger });
  cleanup.defer(() => database[Symbol.asyncDispose]());
  // Connections of its own: many saves at once must not cost the gateway its lease.
  const leases = await openDatabase(url, { logger, connections: 2 });
  cleanup.defer(() => leases[Symbol.asyncDispose]());
  logger.info("sessions are kept in PostgreSQL", { database: database.label });
  return { database, leases };
}

interface Announced extends Pick<Start, "database" | "limits" | "logger" | "cleanup"> {
  readonly listener: Listener;
  readonly made: ShownToken | undefined;
}

async function announce(
  flags: ServeFlags,
  { terminal }: CommandContext,
  { listener, made, database, limits, logger, cleanup }: Announced,
): Promise<void> {
  const { port } = listener;
  const url = localUrl(listener.url);
  const host = flags.host ?? "127.0.0.1";
  if (!isLoopback(host)) {
    logger.announce(
      `warning: plain HTTP on ${host}: others on the network can read tokens and code. Put a TLS proxy in front (docs/http.md).`,
    );
  }
  const token = made?.token;
  const tokenFile = made && (await fileOfToken(made, database, flags, terminal, port, cleanup));
  const place = tokenFile ?? `the database (${database?.label})`;
  const dashboard = flags["no-dashboard"] ? undefined : dashboardLink(url, token);
  if (flags.json) {
    const shown = made === undefined ? {} : { token, token_file: tokenFile ?? null };
    const addresses = { url, api: `${url}/v1`, mcp: `${url}/mcp`, dashboard: dashboard ?? null };
    terminal.stdout.write(jsonText({ ...addresses, limits: limitsJson(limits), ...shown }));
  } else if (made !== undefined) {
    // Logs are kept and shared, so the token itself is shown only to people.
    if (!logger.ownsStderr)
      terminal.stderr.write(`codecell: token ${token} (${made.isTemporary ? "also" : "its digest is"} in ${place})\n`);
    logger.background.info("created a token", { place });
  }
  logger.announce(`serving ${url}/v1, MCP on ${url}/mcp`);
  if (dashboard === undefined) return;
  if (!flags.json && !logger.ownsStderr) terminal.stderr.write(`codecell: dashboard ${dashboard}\n`);
  if (!flags.open) return;
  const where = { env: terminal.env, runtimeDir: runtimeDirOf(flags, terminal), port };
  const problem = await openBrowser(dashboard, where, cleanup);
  if (problem !== undefined) logger.announce(`no browser was opened: ${problem}. Open the link yourself.`);
}

/** The file of a new token: for other programs while the service runs, or the one that it was created in; undefined: a database. */
function fileOfToken(
  { token, isTemporary }: ShownToken,
  database: Database | undefined,
  flags: ServeFlags,
  terminal: Terminal,
  port: number,
  cleanup: Cleanup,
): Promise<string> | string | undefined {
  if (!isTemporary) return database === undefined ? tokenFileOf(flags, terminal) : undefined;
  return keepTokenFile({ token, server: "serve", port, runtimeDir: runtimeDirOf(flags, terminal) }, cleanup);
}

/** The token is in the fragment, which browsers do not send: no server, proxy or log sees it. */
function dashboardLink(url: string, token: string | undefined): string {
  return token === undefined ? `${url}/` : `${url}/#token=${encodeURIComponent(token)}`;
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
      if (count > 0 && !asksAgain(name)) return;
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
