import type { Socket } from "node:net";
import { connect, type SecureContext, type TLSSocket } from "node:tls";

export type Secured =
  | { readonly kind: "secured"; readonly socket: TLSSocket }
  | { readonly kind: "failed"; readonly reason: string };

/** TLS to the server. We verify its certificate for the requested host, because the client cannot see it. */
export function secureUpstream(
  socket: Socket,
  host: string,
  trust: SecureContext,
  timeoutMs: number,
): Promise<Secured> {
  return new Promise((settle) => {
    const secured = connect({
      ...{ socket, host, servername: host, secureContext: trust },
      rejectUnauthorized: true, // even with NODE_TLS_REJECT_UNAUTHORIZED=0
      ALPNProtocols: ["http/1.1"],
      minVersion: "TLSv1.2",
    });
    const fail = (why: string) => {
      clearTimeout(timer);
      secured.destroy(); // also closes the socket below; Node 20 crashes when that one is closed first
      settle({ kind: "failed", reason: `no TLS with ${host}: ${why}` });
    };
    const timer = setTimeout(() => fail("timed out"), timeoutMs);
    secured.on("error", (error: NodeJS.ErrnoException) => fail(error.code ?? "the connection was closed"));
    secured.once("close", () => fail("the connection was closed"));
    secured.once("secureConnect", () => {
      clearTimeout(timer);
      settle({ kind: "secured", socket: secured });
    });
  });
}
