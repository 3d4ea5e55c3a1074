import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls, createServer, type SecureContext, type TLSSocket } from "node:tls";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeSessionAuthority, ServerCertificates } from "./session-authority.ts";

const run = promisify(execFile);
const dayMs = 86_400_000;

/** A handshake with a server that has this context, and its outcome for the client. */
async function handshake(context: SecureContext, servername: string, ca: string): Promise<string> {
  const server = createServer({ SNICallback: (_, done) => done(null, context) });
  server.on("tlsClientError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", servername, ca });
  const outcome = await new Promise<string>((settle) => {
    client.once("secureConnect", () => settle("trusted"));
    client.once("error", (error: NodeJS.ErrnoException) => settle(`${error.code} ${error.message}`));
  });
  client.destroy();
  server.close();
  return outcome;
}

async function leaf(context: SecureContext, servername: string, ca: string): Promise<X509Certificate> {
  const server = createServer({ SNICallback: (_, done) => done(null, context) });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connectTls({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", servername, ca });
  await once(client, "secureConnect");
  const found = (client as TLSSocket).getPeerX509Certificate() as X509Certificate;
  client.destroy();
  server.close();
  return found;
}

describe("the authority of a session", () => {
  const authority = makeSessionAuthority(["api.example.com", "*.wide.example:8443"], dayMs);
  const servers = new ServerCertificates(authority);

  test("signs certificates that a client trusts for one name only", async () => {
    const context = servers.for("api.example.com");
    expect(await handshake(context, "api.example.com", authority.certificate)).toBe("trusted");
    expect(await handshake(context, "a.wide.example", authority.certificate)).toMatch(/^ERR_TLS_CERT_ALTNAME_INVALID/);
  });

  test("is not trusted for names that are not inspected, even if its key leaks", async () => {
    expect(await handshake(servers.for("a.wide.example"), "a.wide.example", authority.certificate)).toBe("trusted");
    const stolen = servers.for("bank.example");
    expect(await handshake(stolen, "bank.example", authority.certificate)).toMatch(/permitted subtree violation/);
  });

  test("is not trusted by another session", async () => {
    const other = makeSessionAuthority(["api.example.com"], dayMs);
    expect(await handshake(servers.for("api.example.com"), "api.example.com", other.certificate)).not.toBe("trusted");
  });

  test("expires as configured, and its certificates expire no later", async () => {
    const short = makeSessionAuthority(["api.example.com"], -1000);
    const late = new ServerCertificates(short).for("api.example.com");
    expect(await handshake(late, "api.example.com", short.certificate)).toMatch(/^CERT_HAS_EXPIRED/);
    expect(Date.parse(new X509Certificate(authority.certificate).validTo)).toBeCloseTo(authority.until, -4);
  });

  test("makes each host's certificate once, and caches a bounded number of them", async () => {
    const all = new ServerCertificates(makeSessionAuthority(["*"], dayMs), 2);
    const first = all.for("h0.example");
    expect(all.for("h0.example")).toBe(first);
    for (let count = 1; count <= 2; count++) all.for(`h${count}.example`);
    expect(all.for("h0.example")).not.toBe(first);
  });
});

describe("openssl", () => {
  let root = "";
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "authority-"));
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  test("accepts the certificate chain in strict mode and reads every field", async (context) => {
    const hasOpenssl = await run("openssl", ["version"]).catch(() => undefined);
    if (!hasOpenssl) return context.skip("openssl is not installed");
    const authority = makeSessionAuthority(["api.example.com"], 40 * 365 * dayMs); // beyond 2049: the other form of time
    const made = new ServerCertificates(authority);
    const server = await leaf(made.for("api.example.com"), "api.example.com", authority.certificate);
    await writeFile(join(root, "ca.pem"), authority.certificate);
    await writeFile(join(root, "leaf.pem"), server.toString());
    const verify = ["verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "api.example.com"];
    const { stdout } = await run("openssl", [...verify, "-CAfile", "ca.pem", "leaf.pem"], { cwd: root });
    expect(stdout.trim()).toBe("leaf.pem: OK");
    const { stdout: text } = await run("openssl", ["x509", "-in", "ca.pem", "-noout", "-text"], { cwd: root });
    for (const part of [
      "CA:TRUE, pathlen:0",
      "Certificate Sign",
      "DNS:api.example.com",
      "ecdsa-with-SHA256",
      "prime256v1",
    ])
      expect(text).toContain(part);
    expect(text).toMatch(/Name Constraints: critical/);
  });
});
