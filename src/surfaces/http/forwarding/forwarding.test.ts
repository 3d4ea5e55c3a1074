import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { FakeClock } from "../../../../test/fakes/fake-clock.ts";
import { MemoryDirectory } from "../../../../test/fakes/memory-directory.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { Gateways } from "../../../service/gateways/gateways.ts";
import { errorReply } from "../answers/error-status.ts";
import { Forwarding } from "./forwarding.ts";

const leaseMs = 15_000;

async function listening(handler: RequestListener): Promise<string> {
  const server = createServer(handler).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A gateway that asks the directory about session `s`, and answers "here" itself. */
async function gateway(directory: MemoryDirectory, options: { take?: () => Promise<unknown> } = {}) {
  const clock = new FakeClock();
  const gateways = new Gateways({ directory, clock, leaseMs });
  onTestFinished(() => gateways[Symbol.asyncDispose]());
  const open = new Set<string>();
  const own = { isOpen: (key: string) => open.has(key), aliveIds: () => [...open], abandon: async () => {} };
  const forwarding = new Forwarding(gateways, own);
  onTestFinished(() => forwarding[Symbol.dispose]());
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    forwarding.isFromPeer(request);
    const exchange = { request, response, gone: () => gone.signal };
    if (await forwarding.passOn({ key: "s", take: options.take }, exchange)) return;
    await forwarding.whileHeld(
      response,
      async () => "here",
      async (text) => void response.end(text),
    );
  };
  const url = await listening((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const { status, body } = errorReply(error);
      response.writeHead(status).end(JSON.stringify(body));
    });
  });
  await gateways.join(url, own);
  /** Both clocks go on, and what became due is answered. */
  const pass = async (ms: number) => {
    directory.nowMs += ms;
    clock.pass(ms);
    for (let turn = 0; turn < 20; turn++) await Promise.resolve();
  };
  return { url, id: gateways.lease.id, forwarding, gateways, open, pass };
}

describe("requests between gateways", () => {
  test("a session that is open here takes no question to the directory", async () => {
    const directory = new MemoryDirectory();
    const { url, open } = await gateway(directory);
    open.add("s");
    const find = vi.spyOn(directory, "find");
    expect(await (await fetch(url)).text()).toBe("here");
    expect(find).not.toHaveBeenCalled();
  });

  test("a request goes to the owner, which sees that a gateway passed it on", async () => {
    const directory = new MemoryDirectory();
    const [first, second] = [await gateway(directory), await gateway(directory)];
    directory.owners.set("s", { owner: second.id, isSaved: false });
    expect(await (await fetch(`${first.url}/path?x=1`)).text()).toBe("here");
    expect([first.forwarding.counts, second.forwarding.counts]).toEqual([
      { sent: 1, received: 0, failed: 0 },
      { sent: 0, received: 1, failed: 0 },
    ]);
  });

  test("a peer that accepts a request and never answers is given up when its lease is over", async () => {
    const directory = new MemoryDirectory();
    const arrived = { count: 0 };
    const silent = await listening(() => void arrived.count++);
    const { url, pass } = await gateway(directory);
    await directory.join({ id: "g-silent", url: silent, leaseMs });
    directory.owners.set("s", { owner: "g-silent", isSaved: true });
    await pass(leaseMs / 3);
    const answer = fetch(url);
    await expect.poll(() => arrived.count).toBe(1);
    await pass(leaseMs / 3);
    await pass(leaseMs / 3);
    await pass(leaseMs / 3);
    const response = await answer;
    expect(response.status).toBe(503);
    expect(await response.text()).toContain("gateway g-silent, which has this session, did not answer");
  });

  test("if another gateway opens the session first, the request goes there, with its body", async () => {
    const directory = new MemoryDirectory();
    const winner = await gateway(directory);
    const take = async () => {
      directory.owners.set("s", { owner: winner.id, isSaved: true });
      throw new CodecellError("session_busy", "open elsewhere", { details: { reason: "open_elsewhere" } });
    };
    const { url, forwarding } = await gateway(directory, { take });
    expect(await (await fetch(url, { method: "POST", body: "unread" })).text()).toBe("here");
    expect(forwarding.counts.sent).toBe(1);
  });

  test("a client that left before its request was passed on does not hold it for ever", async () => {
    const { forwarding } = await gateway(new MemoryDirectory());
    const silent = await listening(() => {});
    const left = withResolvers();
    const server = await listening((request, response) => {
      response.once("close", () => {
        const exchange = { request, response, gone: () => AbortSignal.abort() };
        forwarding.send({ id: "g-silent", url: silent }, exchange).then(left.resolve, left.resolve);
      });
      request.socket.destroy();
    });
    await expect(fetch(server)).rejects.toThrow();
    expect(await left.promise).toMatchObject({ code: "service_unavailable" });
  });

  test("without a lease nothing is answered, not even a question that was asked before", async () => {
    const directory = new MemoryDirectory();
    const { forwarding, gateways, url, pass } = await gateway(directory);
    const response = { headersSent: false } as ServerResponse;
    const waiting = forwarding.whileHeld(
      response,
      () => new Promise<string>(() => {}),
      async () => {},
    );
    const refused = expect(waiting).rejects.toThrow("this gateway lost its lease");
    directory.failure = new Error("the database is gone");
    await pass(leaseMs);
    await refused;
    expect(gateways.lease.isHeld).toBe(false);
    expect((await fetch(url)).status).toBe(503);
  });
});

function withResolvers(): { promise: Promise<unknown>; resolve: (value: unknown) => void } {
  let resolve = (_value: unknown) => {};
  const promise = new Promise<unknown>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
