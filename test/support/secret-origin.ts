import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join, normalize } from "node:path";
import type { TestAuthority } from "./test-authority.ts";

export interface SecretOrigin {
  readonly port: number;
  /** received `authorization` headers, by host */
  readonly seen: { readonly host: string; readonly authorization: string; readonly path: string }[];
  close(): Promise<void>;
}

/**
 * A TLS server for every name of its certificate. `/echo` repeats the request, `/to-other` redirects to another host, and
 * `/site` needs the password.
 */
export async function openSecretOrigin(
  { key, cert }: TestAuthority,
  options: { password: string; site?: string; redirectHost?: string },
): Promise<SecretOrigin> {
  const seen: SecretOrigin["seen"] = [];
  const server = createServer({ key, cert }, (request, answer) => {
    const { host = "", authorization = "" } = request.headers;
    const path = request.url ?? "/";
    seen.push({ host, authorization, path });
    request.resume();
    if (path === "/echo") return void answer.writeHead(200, { "x-echo": authorization }).end(`sent ${authorization}`);
    if (path === "/to-other") {
      const location = `https://${options.redirectHost}:${(server.address() as AddressInfo).port}/echo`;
      return void answer.writeHead(302, { location }).end();
    }
    if (!path.startsWith("/site/")) return void answer.end(`${request.method} ${path}`);
    const [, basic = ""] = authorization.split(" ");
    if (Buffer.from(basic, "base64").toString().split(":")[1] !== options.password) {
      return void answer.writeHead(401, { "www-authenticate": 'Basic realm="test"' }).end();
    }
    const file = normalize(new URL(path, "https://any.example").pathname).slice("/site".length);
    readFile(join(options.site ?? "", file)).then(
      (data) => answer.end(data),
      () => answer.writeHead(404).end(),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
