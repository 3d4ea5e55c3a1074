import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface LoopbackWeb {
  readonly port: number;
  close(): Promise<void>;
}

/** A web server on loopback that reports requests, echoes bodies, and can send endless responses. */
export async function openLoopbackWeb(): Promise<LoopbackWeb> {
  const server = createServer((request, answer) => {
    answer.on("error", () => {});
    if (request.url === "/echo") {
      request.pipe(answer);
    } else if (request.url === "/endless") {
      const chunk = Buffer.alloc(64 * 1024);
      const more = () => {
        while (!answer.destroyed && answer.write(chunk));
      };
      answer.on("drain", more);
      more();
    } else {
      answer.end(`${request.method} ${request.headers.host}${request.url}`);
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
