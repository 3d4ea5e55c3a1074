import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { connect, type RemoteCodecell, type RemoteSession } from "./index.ts";

/** A service whose answers a test scripts, one for each request to a path that ends with the key. */
type Answer = (response: ServerResponse, request: IncomingMessage, body: string) => void;
let answers: Record<string, Answer[]>;
let seen: { readonly url: string; readonly headers: IncomingMessage["headers"]; readonly body: string }[];
const server = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const path = (request.url ?? "").replace(/\?.*/, "");
  if (path === "/v1/health") return void response.end('{"status":"ok"}');
  if (path === "/v1/sessions") return void response.end(info);
  seen.push({ url: request.url ?? "", headers: request.headers, body });
  const [, script] = Object.entries(answers).find(([end]) => path.endsWith(end)) ?? [];
  const answer = script?.shift();
  if (answer) answer(response, request, body);
  else response.writeHead(404).end('{"error":{"code":"not_found","message":"no more answers"}}');
});
const info = JSON.stringify({
  ...{ session_id: "s", state: "live", busy: false, persistent: false, runs: 0, runner: "wasm", checkpoints: [] },
  ...{ created_at: "2026-01-01T00:00:00.000Z", used_at: "2026-01-01T00:00:00.000Z", shared_cell: 1 },
});
const receipt = { runner: "wasm", runner_version: "1", policy_hash: "h", rules: [], notes: [] };
const result = {
  ...{ run_id: "run_1", number: 1, status: "ok", state: "kept", stdout: "", stderr: "", truncated: false, notes: [] },
  ...{ stdout_bytes: 0, stderr_bytes: 0, left_out_bytes: { stdout: 0, stderr: 0 }, displays: [], artifacts: [] },
  ...{ left_out: [], duration_ms: 1, usage: { wall_ms: 1, sent_bytes: 0, received_bytes: 0 }, runner: "wasm", receipt },
};
const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`;
const started = event({ type: "run", run_id: "run_1" });
const ended = event({ type: "result", offset: 0, run: result });
const error = (status: number, code: string): Answer => {
  return (response) => response.writeHead(status).end(JSON.stringify({ error: { code, message: code } }));
};

let codecell: RemoteCodecell;
let session: RemoteSession;
beforeEach(async () => {
  [answers, seen] = [{}, []];
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // how long the client waits before it takes a silent service for lost: short, but longer than a busy machine is silent
  codecell = await connect({ url, token: "t", times: { idleMs: 300, headersMs: 300, queuedMs: 1, callsMs: 1 } });
  session = await codecell.session("s");
});
afterEach(async () => {
  await codecell.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

describe("a run over a connection that falls silent", () => {
  test("is followed on a new connection, whether it was silent before or after the run's id", async () => {
    answers = {
      "/runs": [() => {}, (response) => response.write(started)],
      "/events": [(response) => response.write(": nothing yet\n\n"), (response) => response.end(started + ended)],
    };
    expect(await session.run("x")).toMatchObject({ status: "ok", runId: "run_1" });
    const starts = seen.filter(({ url }) => /\/runs\?/.test(url)).map(({ headers }) => headers["idempotency-key"]);
    expect([starts.length, new Set(starts).size]).toEqual([2, 1]);
    expect(seen.length).toBe(4);
  });
});

describe("a queued run", () => {
  test("asks again until the session is free, each time with the same key", async () => {
    const busy = error(409, "session_busy");
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using patient = await connect({ url, token: "t", times: { queuedMs: 1 } }); // a repeated request would take an answer
    session = await patient.session("s");
    answers = { "/runs": [busy, busy, busy, (response) => response.end(started + ended)] };
    expect(await session.run("x", { whenBusy: "queue" })).toMatchObject({ status: "ok" });
    expect(seen.length).toBe(4);
    expect(new Set(seen.map(({ headers }) => headers["idempotency-key"])).size).toBe(1);
    answers = { "/runs": [busy] };
    await expect(session.run("x")).rejects.toMatchObject({ code: "session_busy" });
  });
});

describe("functions of the client", () => {
  const call = (number: number, name = "double") => ({ call: number, run: 1, name, arguments: { x: number } });
  const calls = (...list: object[]): Answer => {
    return (response) => response.end(JSON.stringify({ calls: list }));
  };
  const cut: Answer = (_, request) => request.socket.destroy();
  const silent: Answer = () => {};
  const done: Answer = (response) => response.writeHead(204).end();
  let doubled: number[];
  const double = {
    ...{ description: "doubles", input: { type: "object" } },
    call: ({ x }: { x: number }) => {
      doubled.push(x);
      return x * 2;
    },
  };
  beforeEach(() => {
    doubled = [];
  });
  const fetched = () => seen.filter(({ url }) => url.includes("/calls?")).map(({ url }) => url.split("?")[1]);

  test("get the calls of a lost reply, each once, and ask for old ones only then", async () => {
    answers = {
      "/functions": [done],
      "/calls": [calls(call(7)), cut, calls(call(8), call(9)), silent],
      ...{ "/calls/7": [done], "/calls/8": [done], "/calls/9": [done] },
    };
    await session.expose({ double });
    await expect.poll(fetched).toEqual(["wait=30", "wait=30", "wait=30&after=7", "wait=30"]);
    expect(doubled).toEqual([7, 8, 9]);
  });

  test("leave calls alone that another client has fetched", async () => {
    answers = {
      "/functions": [done],
      "/calls": [cut, calls(call(1, "of_another"), call(2)), silent],
      "/calls/2": [done],
    };
    await session.expose({ double });
    await expect
      .poll(() => seen.filter(({ url }) => /\/calls\/\d/.test(url)).map(({ url }) => url))
      .toEqual(["/v1/sessions/s/calls/2"]);
    expect(doubled).toEqual([2]);
  });

  test("are not called a second time when functions are exposed again during a call", async () => {
    let release = () => {};
    let started = 0;
    const slow = {
      ...{ description: "waits", input: { type: "object" } },
      call: () => {
        started++;
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      },
    };
    const pending = calls(call(1, "slow"));
    answers = {
      "/functions": [done, done, done],
      // a service answers with every call that is not answered yet, if it is asked for old ones
      "/calls": [
        pending,
        silent,
        (response, request, body) => (/after=0/.test(request.url ?? "") ? pending(response, request, body) : undefined),
      ],
      "/calls/1": [done],
    };
    const first = await session.expose({ slow });
    await expect.poll(() => started).toBe(1);
    await first[Symbol.asyncDispose]();
    await session.expose({ slow });
    await expect.poll(() => fetched().length).toBe(3);
    release();
    await expect.poll(() => seen.filter(({ url }) => url.endsWith("/calls/1")).length).toBe(1);
    expect(started).toBe(1);
  });
});

describe("a file whose connection is cut", () => {
  const facts = { etag: '"one"', "last-modified": "Thu, 01 Jan 2026 00:00:00 GMT" };
  const half: Answer = (response) => {
    response.writeHead(200, { ...facts, "content-length": "10" });
    response.write("01234", () => response.destroy());
  };
  const read = async () => new TextDecoder().decode((await (await session.files()).read("a")).data);

  test("is downloaded from where it was, if it is still the same file", async () => {
    const rest: Answer = (response) => {
      const headers = { ...facts, "content-length": "5", "content-range": "bytes 5-9/10" };
      response.writeHead(206, headers).end("56789");
    };
    answers = { "/files/a": [half, rest] };
    expect(await read()).toBe("0123456789");
    expect(seen[1]?.headers).toMatchObject({ range: "bytes=5-9", "if-range": '"one"' });
  });

  test("is not joined with another file that has its name since", async () => {
    const other: Answer = (response) =>
      response.writeHead(200, { etag: '"two"', "content-length": "10" }).end("ABCDEFGHIJ");
    answers = { "/files/a": [half, other] };
    await expect(read()).rejects.toMatchObject({ code: "file_refused", message: expect.stringContaining("changed") });
  });

  test("is uploaded again if its bytes are at hand, and fails if they came from a stream", async () => {
    const lost: Answer = (_, request) => request.socket.destroy();
    const kept: Answer = (response, _, body) => response.end(JSON.stringify({ size: body.length }));
    answers = { "/files/a": [lost, kept, lost, kept] };
    expect(await session.upload("a", new TextEncoder().encode("hello"))).toEqual({ size: 5 });
    expect(seen.map(({ body }) => body)).toEqual(["hello", "hello"]);
    let isReleased = false;
    async function* pieces() {
      try {
        for (;;) yield new Uint8Array(1000);
      } finally {
        isReleased = true;
      }
    }
    const early: Answer = (response) => response.writeHead(413).end('{"error":{"code":"too_large","message":"full"}}');
    answers = { "/files/a": [early] };
    server.prependOnceListener("request", (request, response) => early(response, request, ""));
    await expect(session.upload("a", pieces())).rejects.toMatchObject({ code: "too_large" });
    expect(isReleased).toBe(true);
    async function* short() {
      yield new TextEncoder().encode("hello");
    }
    answers = { "/files/a": [lost, kept] };
    await expect(session.upload("a", short())).rejects.toMatchObject({ code: "service_unavailable" });
    expect(answers["/files/a"]?.length).toBe(1);
  });
});
