import { rmSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { messageOf } from "../lib/errors.ts";
import type { ProxySettings, ToProxy } from "./process-messages.ts";
import { EgressProxy } from "./proxy.ts";
import { resolveOnHost, withFixedAddresses } from "./resolver.ts";

/**
 * A process of its own: at full speed a proxy blocks its event loop for milliseconds, and what reads the requests of
 * programs that nobody has read shares no memory with what holds the sessions.
 */
interface Session {
  readonly proxy: EgressProxy;
  readonly server: Server;
  readonly path: string;
}

const sessions = new Map<number, Session>();
let settings: ProxySettings = { directory: "", fixedAddresses: {}, times: {} };

process.on("disconnect", () => {
  // Whoever started us is gone, and cannot clean up any more.
  if (settings.directory !== "") rmSync(settings.directory, { recursive: true, force: true });
  process.exit(0);
});
process.on("SIGINT", () => {}); // a Ctrl-C in the terminal is for our parent to handle
process.on("message", (message: ToProxy) => receive(message));

function receive(message: ToProxy): void {
  switch (message.t) {
    case "configure":
      settings = message.settings;
      return;
    case "open":
      open(message.session, message.rules);
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

function open(session: number, rules: ConstructorParameters<typeof EgressProxy>[0]["rules"]): void {
  const proxy = new EgressProxy({
    rules,
    times: settings.times,
    resolve: withFixedAddresses(settings.fixedAddresses, resolveOnHost),
    onEvent: (event) => tell({ t: "event", session, event }),
  });
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => proxy.accept(client));
  const path = join(settings.directory, String(session));
  server.on("error", (error) => tell({ t: "refused", session, reason: messageOf(error) }));
  server.listen(path, () => tell({ t: "opened", session }));
  sessions.set(session, { proxy, server, path });
}

function close(session: number): void {
  const known = sessions.get(session);
  if (!known) return;
  sessions.delete(session);
  known.server.close();
  known.proxy.close();
  rmSync(known.path, { force: true });
}

function tell(message: object): void {
  if (process.connected) process.send?.(message);
}
