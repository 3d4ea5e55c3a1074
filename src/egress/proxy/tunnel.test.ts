import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { clientHello } from "../../../test/support/client-hello.ts";
import type { Denial } from "../rules/decide.ts";
import { defaultQuota, defaultTimes } from "../rules/limits.ts";
import { Exchange } from "./exchange.ts";
import { openTunnel } from "./tunnel.ts";

const unrecognizedName = Buffer.from([21, 3, 1, 0, 2, 2, 112]);

let servers: Server[];
let sockets: Socket[];
beforeEach(() => {
  servers = [];
  sockets = [];
});
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
});

/** Two ends of one connection. */
async function pair(): Promise<[near: Socket, far: Socket]> {
  const server = createServer({ allowHalfOpen: true });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const near = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true });
  const [far] = (await once(server, "connection")) as [Socket];
  for (const socket of [near, far]) socket.on("error", () => {});
  sockets.push(near, far);
  return [near, far];
}

/** A tunnel to good.example that requires TLS, with both ends under the test's control. */
async function tlsTunnel(helloMs = 5_000) {
  const [[client, program], [upstream, server]] = await Promise.all([pair(), pair()]);
  const denials: Denial[] = [];
  const request = { host: "good.example", port: 443, via: "connect" as const };
  const exchange = new Exchange(1, request, { bytes() {}, end() {} });
  openTunnel({
    ...{ client, upstream, exchange, early: Buffer.alloc(0), host: "good.example", needsTls: true },
    limits: { ...defaultTimes, ...defaultQuota, helloMs },
    onRefused: (denial) => denials.push(denial),
  });
  return { program, server, denials };
}

test("a tunnel that requires TLS refuses other traffic", async () => {
  const { program, server, denials } = await tlsTunnel();
  program.write("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
  expect(await buffer(program)).toEqual(unrecognizedName);
  expect(await buffer(server)).toHaveLength(0);
  expect(denials).toMatchObject([{ code: "server_name", reason: "the traffic to good.example is not TLS" }]);
});

test("a ClientHello that comes byte by byte is passed on whole", async () => {
  const { program, server } = await tlsTunnel();
  const hello = await clientHello("good.example");
  program.setNoDelay(true);
  for (const byte of hello) program.write(Buffer.from([byte]));
  program.end();
  const received: Buffer[] = [];
  for await (const chunk of server) {
    received.push(chunk as Buffer);
    if (Buffer.concat(received).length >= hello.length) break;
  }
  expect(Buffer.concat(received).equals(hello)).toBe(true);
});

test("a tunnel whose ClientHello never comes is closed", async () => {
  const { program, denials } = await tlsTunnel(30);
  program.write(Buffer.from([22, 3, 1]));
  expect(await buffer(program)).toEqual(unrecognizedName);
  expect(denials).toMatchObject([{ reason: "the TLS hello did not come in time" }]);
});

test("a tunnel that one side has ended still carries data from the other", async () => {
  const { program, server } = await tlsTunnel();
  program.end(await clientHello("good.example"));
  await once(server.resume(), "end");
  server.end("the answer");
  expect((await buffer(program)).toString()).toBe("the answer");
});
