import { createServer, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { TLSSocket } from "node:tls";
import { admitClient } from "../proxy/admit-client.ts";
import { forwardRequest } from "../proxy/forward.ts";
import { maxHeadBytes } from "../proxy/forward-head.ts";
import type { ProxyContext } from "../proxy/proxy-context.ts";
import { sayGoodbye } from "../proxy/say-goodbye.ts";
import { malformed } from "../rules/decide.ts";
import { rawRefusal } from "../rules/refusal-text.ts";
import type { Target } from "../rules/target.ts";
import { type AuthorityPair, ServerCertificates } from "./session-authority.ts";
import { type OpenedTunnel, TunnelAgent } from "./tunnel-agent.ts";

/** Terminates the TLS of a session's clients in the name of the requested server. Each request is decided separately. */
export class Inspector {
  readonly #context: ProxyContext;
  readonly #certificates: ServerCertificates;
  readonly #server: Server;
  /** the host of each connection; a request cannot change it */
  readonly #tunnels = new WeakMap<Duplex, OpenedTunnel>();

  constructor(authority: AuthorityPair, context: ProxyContext) {
    this.#context = context;
    this.#certificates = new ServerCertificates(authority);
    this.#server = this.#makeServer();
  }

  /** Takes a client whose CONNECT was accepted. */
  open(client: Duplex, early: Buffer, target: Target): void {
    const { limits } = this.#context;
    admitClient({
      ...{ client, early, host: target.host, needsTls: true, limits },
      onAdmitted: (hello) => {
        client.unshift(hello);
        this.#serve(client, target);
      },
      onRefused: (denial) => this.#context.refuse({ ...target, via: "connect" }, denial),
      onEnded: () => client.destroy(),
    });
  }

  #serve(client: Duplex, target: Target): void {
    const { limits } = this.#context;
    const secured = new TLSSocket(client as ConstructorParameters<typeof TLSSocket>[0], {
      isServer: true,
      secureContext: this.#certificates.for(target.host),
      ALPNProtocols: ["http/1.1"], // clients that offer HTTP/2 fall back to it
    });
    // The TLS socket owns `client` from here on and closes it.
    const timer = setTimeout(() => secured.destroy(), limits.helloMs);
    secured.setMaxListeners(0); // each pipelined request adds a listener
    secured.on("error", () => secured.destroy());
    secured.once("close", () => clearTimeout(timer));
    secured.once("secure", () => {
      clearTimeout(timer);
      secured.setTimeout(limits.idleMs, () => secured.destroy());
      const agent = new TunnelAgent();
      secured.once("close", () => agent.destroy());
      this.#tunnels.set(secured, { ...target, agent });
      this.#server.emit("connection", secured);
    });
  }

  #makeServer(): Server {
    const server = createServer({ maxHeaderSize: maxHeadBytes, insecureHTTPParser: false });
    Object.assign(server, { timeout: 0, keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 });
    server.maxHeadersCount = 0; // Node would silently drop the rest; `readForwardHead` checks the number
    server.on("request", (request, answer) => {
      const tunnel = this.#tunnels.get(request.socket);
      if (!tunnel) return void request.socket.destroy();
      void forwardRequest(request, answer, this.#context, tunnel).catch(() => request.socket.destroy());
    });
    server.on("connect", (_, client: Duplex) => client.destroy()); // a tunnel in a tunnel would not be inspected
    server.on("clientError", (error: NodeJS.ErrnoException, client: Duplex) => {
      if (!error.code?.startsWith("HPE_") || !client.writable) return void client.destroy();
      const denial = malformed("this is not an HTTP request");
      const { host, port } = this.#tunnels.get(client) ?? { host: "", port: 0 };
      this.#context.refuse({ host, port, via: "https" }, denial);
      sayGoodbye(client, rawRefusal(400, denial));
    });
    return server;
  }
}
