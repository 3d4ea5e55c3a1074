import type { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { silentLogger } from "../../lib/log/logger.ts";
import type { LazySandbox } from "../../service/lazy-sandbox.ts";
import { createMcpServer, type McpServerOptions } from "./server.ts";

/** A larger message closes the connection. An upload may have two thirds of this. */
const maxMessageBytes = 32 * 1024 * 1024;

/** Serves MCP, of either era, on standard input and output until it is disposed. `console.log` goes to stderr from now on. */
export function serveOverStdio(sandbox: LazySandbox, options: McpServerOptions = {}): AsyncDisposable {
  const { logger = silentLogger } = options;
  // A stray line on stdout would break the protocol.
  console.log = console.info = console.debug = console.error;
  let server: McpServer | undefined;
  const stopTelling = sandbox.onArtifactsChanged(() => {
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
      stopTelling();
      await connection.close();
    },
  };
}
