import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { fastestRunner } from "../support/fastest-runner.ts";
import { TestService } from "../support/http-service.ts";

test("readers of links that take nothing keep out neither other tenants nor the tenant of the links", async () => {
  const here = await TestService.open({
    runners: [fastestRunner()],
    limits: { requests: 8, requestsPerToken: 4 },
  });
  onTestFinished(() => here[Symbol.asyncDispose]());
  const [alice, bob] = [await here.client("alice"), await here.client("bob")];
  const session = await alice.session();
  await alice.fetch(`/v1/sessions/${session}/files/large`, { method: "PUT", body: new Uint8Array(16 * 1024 * 1024) });
  const made = await alice.call("POST", `/v1/sessions/${session}/links`, { path: "large" });
  expect(made).toMatchObject({ status: 201 });
  const path = new URL(made.json.url).pathname;
  const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${here.listener.port}\r\nConnection: close\r\n\r\n`;
  const sockets: Awaited<ReturnType<typeof here.socket>>[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  const read = async () => {
    const socket = await here.socket();
    sockets.push(socket);
    socket.on("error", () => {});
    socket.pause().write(request);
  };
  await Promise.all(Array.from({ length: 10 }, read));
  const isFull = async () => {
    if ((await here.anonymous().fetch(path, { method: "HEAD" })).status !== 200) return true;
    await read(); // the question itself may have taken the place of a reader
    return false;
  };
  await expect.poll(isFull, { timeout: 20_000 }).toBe(true);
  expect((await here.anonymous().call("GET", path)).json.error.code).toBe("busy");
  expect((await bob.call("GET", "/v1/me")).status).toBe(200);
  expect((await alice.call("GET", "/v1/me")).status).toBe(200);
  const ended = Promise.all(sockets.map((socket) => once(socket.resume(), "close")));
  await here.tokens.remove("alice");
  expect((await alice.call("GET", "/v1/me")).status).toBe(401);
  await ended;
});
