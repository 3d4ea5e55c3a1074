import { rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { createSecureContext, type SecureContext } from "node:tls";
import { messageOf } from "../../lib/errors.ts";
import { claimOf } from "../../lib/files/living-file.ts";
import { readHostCertificates } from "../../lib/host-certificates.ts";
import { PromiseCache } from "../../lib/waiting/promise-cache.ts";
import { EgressProxy } from "../proxy/proxy.ts";
import { resolveOnHost, withFixedAddresses } from "../proxy/resolver.ts";
import type { EgressRules } from "../rules/decide.ts";
import type { ProxySettings, ToProxy } from "./process-messages.ts";
import type { SessionKeys } from "./session-keys.ts";

/**
 * A separate process for two reasons. At full speed a proxy blocks its event loop for milliseconds. And code that parses
 * untrusted requests must not share memory with the sessions.
 */
interface Session {
  readonly proxy: EgressProxy;
  readonly server: Server;
  readonly path: string;
  /** accepts connections on the cell's own socket, if it was passed to us */
  listener: Server | undefined;
}

const sessions = new Map<number, Session>();
let settings: ProxySettings = { directory: "", fixedAddresses: {}, times: {}, authorities: [] };
const trust = new PromiseCache<SecureContext>();

process.on("disconnect", exitWithParent);
process.on("SIGINT", () => {}); // our parent handles Ctrl-C
process.on("message", (message: ToProxy, handle: unknown) => receive(message, handle));
if (!process.connected) exitWithParent(); // it exited before we listened for that

/** Our parent has exited and cannot clean up any more. Quietly: nobody is left to read an error. */
function exitWithParent(): void {
  try {
    if (settings.directory !== "") {
      rmSync(settings.directory, { recursive: true, force: true });
      rmSync(claimOf(settings.directory), { force: true });
    }
  } finally {
    process.exit(0);
  }
}

function receive(message: ToProxy, handle: unknown): void {
  switch (message.t) {
    case "configure":
      settings = message.settings;
      return;
    case "open":
      open(message.session, message.rules, message.keys);
      return;
    case "listen":
      listen(message.session, handle);
      return;
    case "update":
      sessions.get(message.session)?.proxy.update(message.rules);
      return;
    case "close":
      close(message.session);
      return;
    case "flush":
      sessions.get(message.session)?.proxy.report();
      tell({ t: "flushed", flush: message.flush });
      return;
  }
}

function open(session: number, rules: EgressRules, keys: SessionKeys): void {
  const proxy = new EgressProxy({
    ...{ rules, keys, trust: upstreamTrust },
    times: settings.times,
    resolve: withFixedAddresses(settings.fixedAddresses, resolveOnHost),
    onEvent: (event) => tell({ t: "event", session, event }),
  });
  const server = serverOf(proxy);
  const path = join(settings.directory, String(session));
  server.on("error", (error) => tell({ t: "refused", session, reason: messageOf(error) }));
  server.listen(path, () => tell({ t: "opened", session }));
  sessions.set(session, { proxy, server, path, listener: undefined });
}

/** Replaces the earlier listener: our parent sends the socket again when it is not sure that we have it. */
function listen(session: number, handle: unknown): void {
  const known = sessions.get(session);
  if (!known || !handle) {
    tell({ t: "refused", session, reason: "the cell's socket was not received" });
    return;
  }
  known.listener?.close();
  known.listener = serverOf(known.proxy);
  known.listener.on("error", (error) => tell({ t: "refused", session, reason: messageOf(error) }));
  known.listener.listen(handle, () => tell({ t: "listening", session }));
}

function serverOf(proxy: EgressProxy): Server {
  return createServer({ allowHalfOpen: true, noDelay: true }, (client) => proxy.accept(client));
}

function close(session: number): void {
  const known = sessions.get(session);
  if (!known) return;
  sessions.delete(session);
  known.server.close();
  known.listener?.close();
  known.proxy.close();
  rmSync(known.path, { force: true });
}

/** The host's certificate authorities, loaded on first use because reading 150 certificates is slow. */
function upstreamTrust(): Promise<SecureContext> {
  return trust.get("host", async () =>
    createSecureContext({ ca: [await readHostCertificates(), ...settings.authorities] }),
  );
}

function tell(message: object): void {
  // With a callback, a message to a parent that was just killed fails quietly instead of ending us with a stack trace.
  if (process.connected) process.send?.(message, undefined, undefined, () => {});
}
