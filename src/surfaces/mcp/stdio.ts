import type { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { silentLogger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

/** A larger message closes the connection. Uploads can be up to two thirds of this, because of base64. */
const maxMessageBytes = 32 * 1024 * 1024;

/** Serves MCP, old and new versions, on standard input and output until disposed. Redirects `console.log` to stderr. */
export function serveOverStdio(sandbox: LazySandbox, options: McpServerOptions = {}): AsyncDisposable {
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
      transport: new StdioServerTransport(process.stdin, process.stdout, { maxBufferSize: maxMessageBytes }),
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
