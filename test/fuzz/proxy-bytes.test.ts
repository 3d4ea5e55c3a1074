import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { duplexPair } from "node:stream";
import fc from "fast-check";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { EgressProxy } from "../../src/egress/proxy/proxy.ts";
import { readGreeting, readSocksRequest } from "../../src/egress/proxy/socks.ts";
import { maxHelloBytes, readClientHello } from "../../src/egress/tls/client-hello.ts";
import { clientHello, inRecordsOf } from "../support/client-hello.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";
import { mutatedBytes } from "../support/fuzz/mutations.ts";
import { LoopbackServers } from "../support/loopback-servers.ts";

/** Half of the names that the samples use. Two edits of a sample turn one of the others into it, or into a third. */
const allowed = ["good.example", "*.wide.example"];

let loopback: LoopbackServers;
let origin: number;
let hello: Buffer;
const stray: unknown[] = [];
const keep = (error: unknown) => stray.push(error);
beforeAll(async () => {
  hello = await clientHello("good.example");
  loopback = new LoopbackServers();
  origin = await loopback.listen(createHttpServer((_request, answer) => answer.end("origin")));
});
afterAll(() => loopback?.[Symbol.asyncDispose]());
beforeEach(() => {
  stray.length = 0;
  process.on("unhandledRejection", keep);
  process.on("uncaughtException", keep);
});
afterEach(() => {
  process.off("unhandledRejection", keep);
  process.off("uncaughtException", keep);
});

const socks = (host: string, port: number) =>
  Buffer.concat([
    Buffer.from([5, 1, 0, 5, 1, 0, 3, host.length]),
    Buffer.from(host),
    Buffer.from([port >> 8, port & 255]),
  ]);

function samples(): Buffer[] {
  const text = (...lines: string[]) => Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  const connect = (host: string, port = 443) => text(`CONNECT ${host}:${port} HTTP/1.1`, `Host: ${host}:${port}`);
  return [
    connect("good.example"),
    Buffer.concat([connect("good.example"), hello]),
    Buffer.concat([connect("bad.example"), hello]),
    connect("a.wide.example", origin),
    connect("127.0.0.1"),
    text("GET http://good.example/a HTTP/1.1", "Host: good.example", "Connection: close"),
    text("GET http://bad.example/a HTTP/1.1", "Host: good.example", "Connection: close"),
    text("GET http://[::1]/ HTTP/1.0"),
    text(
      `POST http://good.example:${origin}/ HTTP/1.1`,
      "Host: good.example",
      "Transfer-Encoding: chunked",
      "",
      "3\r\nabc\r\n0",
    ),
    text("GET / HTTP/1.1", "Host: good.example", "Upgrade: h2c", "Connection: Upgrade"),
    socks("good.example", origin),
    socks("bad.example", origin),
    Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, origin >> 8, origin & 255]),
    Buffer.from([4, 1, 0, 80, 127, 0, 0, 1, 0]),
  ];
}

function isNamed(host: string): boolean {
  return host === "good.example" || /^(?:[a-z0-9_-]+\.)+wide\.example$/.test(host);
}

/** Sends bytes to a proxy of their own and returns the names that it looked up, when the connection has ended. */
async function lookedUp(bytes: Buffer): Promise<string[]> {
  const looked: string[] = [];
  const proxy = new EgressProxy({
    rules: { enabled: true, allowlist: [...allowed, `good.example:${origin}`, `*.wide.example:${origin}`], deny: [] },
    onEvent: () => {},
    times: { headMs: 100, helloMs: 100, connectMs: 100, idleMs: 100, halfClosedMs: 100 },
    resolve: async (host) => {
      looked.push(host);
      // a name without an address is not dialled; the server of this test is
      return bytes.includes(`good.example:${origin}`) ? [{ address: "127.0.0.1", isFixed: true }] : [];
    },
  });
  const [client, far] = duplexPair();
  client.on("error", () => {});
  client.resume();
  const closed = once(far, "close", { signal: AbortSignal.timeout(20_000) });
  proxy.accept(far);
  client.end(bytes);
  await closed;
  proxy.close();
  client.destroy();
  return looked;
}

test(
  "mutated bytes to the proxy look up no name that the policy does not allow, and every connection ends",
  async () => {
    const allNames = new Set<string>();
    const several = fc.array(mutatedBytes(samples()), { minLength: 20, maxLength: 40 });
    const property = fc.asyncProperty(several, async (streams) => {
      const looked = await Promise.all(streams.map(lookedUp));
      for (const host of looked.flat()) allNames.add(host);
      expect(looked.flat().filter((host) => !isNamed(host))).toEqual([]);
      expect(stray).toEqual([]);
    });
    await fc.assert(property, tries(15));
    expect([...allNames]).toEqual(expect.arrayContaining(["good.example", "a.wide.example"]));
  },
  patienceMs,
);

describe("the readers of first bytes", () => {
  test(
    "return a verdict for any TLS hello, and name a host only if it is in the bytes",
    () => {
      const honest = [hello, inRecordsOf(7, hello), inRecordsOf(100, hello)];
      const property = fc.property(mutatedBytes(honest), (bytes) => {
        const verdict = readClientHello(bytes);
        expect(verdict).toBeTypeOf("object");
        if ("serverName" in verdict && typeof verdict.serverName === "string" && bytes.length < 600) {
          expect(verdict.serverName.length).toBeLessThan(bytes.length);
        }
        readClientHello(bytes.subarray(0, maxHelloBytes));
      });
      fc.assert(property, tries(2_000));
    },
    patienceMs,
  );

  test(
    "return a verdict for any SOCKS message",
    () => {
      const property = fc.property(mutatedBytes([socks("good.example", 443), socks("a".repeat(255), 1)]), (bytes) => {
        expect(readGreeting(bytes)).toBeTypeOf("object");
        const request = readSocksRequest(bytes.subarray(3));
        expect(request).toBeTypeOf("object");
        if ("port" in request) expect(request.port).toBeLessThan(65_536);
      });
      fc.assert(property, tries(2_000));
    },
    patienceMs,
  );
});
