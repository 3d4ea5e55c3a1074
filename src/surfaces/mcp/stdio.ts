import type { Readable, Writable } from "node:stream";
import type { JSONRPCMessage, McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { silentLogger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

/** A larger message closes the connection. Uploads can be up to two thirds of this, because of base64. */
const limits = { maxBufferSize: 32 * 1024 * 1024 };

/** The streams of a server; default: those of this process. */
export interface StdioStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Serves MCP, old and new versions, on standard input and output until disposed. Redirects `console.log` to stderr. With
 * `onInitialized`, the client already has the reply to `initialize`, the first message: this is called in place of sending it.
 */
export function serveOverStdio(
  sandbox: LazySandbox,
  options: McpServerOptions = {},
  { input, output }: StdioStreams = { input: process.stdin, output: process.stdout },
  { onInitialized }: { readonly onInitialized?: (() => void) | undefined } = {},
): AsyncDisposable {
  const { logger = silentLogger } = options;
  // Any other line on stdout would break the protocol.
  console.log = console.info = console.debug = console.error;
  let server: McpServer | undefined;
  const stopNotifying = sandbox.onArtifactsChanged(() => {
    if (server?.isConnected()) server.sendResourceListChanged();
  });
  const connection = serveStdio(
    () => {
      server = createMcpServer(sandbox, options);
      return server;
    },
    {
      transport: onInitialized
        ? new ResumedTransport(input, output, limits, onInitialized)
        : new StdioServerTransport(input, output, limits),
      onerror: (error) => logger.warn("mcp", { error }),
    },
  );
  return {
    async [Symbol.asyncDispose]() {
      stopNotifying();
      await connection.close();
    },
  };
}

/** Drops its first message, the reply to `initialize`. */
class ResumedTransport extends StdioServerTransport {
  #onFirst: (() => void) | undefined;

  constructor(input: Readable, output: Writable, options: typeof limits, onFirst: () => void) {
    super(input, output, options);
    this.#onFirst = onFirst;
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    if (this.#onFirst === undefined) return super.send(message);
    const onFirst = this.#onFirst;
    this.#onFirst = undefined;
    onFirst();
  }
}
