import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { type ConnectOptions, connect, type RemoteCodecell } from "./index.ts";

/** A service that answers with what a test wants. */
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let seen: IncomingMessage[];
let url: string;
const server = createServer((request, response) => {
  if (request.url === "/v1/health") return void response.end('{"status":"ok"}');
  seen.push(request);
  answer(request, response);
});
const token = "the-secret-token";
const open = (options: ConnectOptions = {}) =>
  connect({ url, token, retries: 0, maxResponseBytes: 100_000, ...options });
let codecell: RemoteCodecell;
beforeEach(async () => {
  seen = [];
  if (!server.listening) await once(server.listen(0, "127.0.0.1"), "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  codecell = await open();
});
afterEach(() => codecell.close());
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const info = JSON.stringify({
  ...{ session_id: "s", state: "live", busy: false, persistent: false, runs: 0, runner: "wasm", checkpoints: [] },
  ...{ created_at: "2026-01-01T00:00:00.000Z", used_at: "2026-01-01T00:00:00.000Z", shared_cell: 1 },
});
const failure = (work: PromiseLike<unknown>) =>
  Promise.resolve(work).then(
    () => ({ code: "done", text: "" }),
    (error) => ({ code: error.code, text: `${error.message} ${error.hint} ${JSON.stringify(error.details)}` }),
  );
/** A session, after which `next` answers. */
async function session(next: typeof answer) {
  answer = (_, response) => response.end(info);
  const opened = await codecell.session("s");
  answer = next;
  return opened;
}

describe("the client of a hostile service", () => {
  test("follows no redirect, so that the token stays with the address it was given for", async () => {
    answer = (_, response) => response.writeHead(307, { location: "http://127.0.0.2:1/v1/sessions" }).end();
    const { code, text } = await failure(codecell.list());
    expect([code, text]).toEqual(["service_unavailable", expect.stringContaining("redirects")]);
    expect(seen.length).toBe(1);
  });

  test("stops at a response, an error or an event that never ends", async () => {
    const flood = (head: string) => (_: IncomingMessage, response: ServerResponse) => {
      response.write(head);
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(10_000)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    };
    const one = await session(flood('{"variables":["'));
    expect((await failure(one.variables())).code).toBe("too_large");
    answer = flood('event: stdout\ndata: {"type":"stdout","text":"');
    expect((await failure(one.run("x"))).code).toBe("too_large");
    answer = (request, response) => flood('{"error":')(request, response.writeHead(500));
    expect((await failure(one.variables())).code).toBe("service_unavailable");
    answer = flood("");
    expect((await failure((await one.files()).read("a", { maxBytes: 10 }))).code).toMatch(
      /service_unavailable|too_large/,
    );
  });

  test("checks the type of every field, and lets nothing reach a prototype", async () => {
    const one = await session((_, response) => response.end(reply));
    let reply = "";
    for (reply of [
      "null",
      "[]",
      "{",
      "7",
      '{"variables":{}}',
      '{"variables":[null]}',
      '{"variables":[{"name":1}]}',
      "",
    ])
      expect([reply, (await failure(one.variables())).code]).toEqual([reply, "service_unavailable"]);
    reply = '{"__proto__":{"variables":[]},"constructor":{"prototype":{"polluted":1}}}';
    expect((await failure(one.variables())).code).toBe("service_unavailable");
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
    reply = `{"variables":${"[".repeat(40_000)}${"]".repeat(40_000)}}`;
    expect((await failure(one.variables())).code).toBe("service_unavailable");
    reply = info.replace('"s"', '"../other"');
    expect((await failure(codecell.session("s"))).code).toBe("service_unavailable");
    expect((await failure(codecell.session())).code).toBe("done");
  });

  test("checks errors, and shows no token that they repeat", async () => {
    answer = (_, response) =>
      response.writeHead(400).end(`{"error":{"code":"__proto__","message":"you sent ${token}","hint":"${token}"}}`);
    const { code, text } = await failure(codecell.list());
    expect(code).toBe("service_unavailable");
    expect(text).not.toContain(token);
    answer = (_, response) => response.writeHead(418).end("<html>");
    expect((await failure(codecell.list())).text).toContain("418");
    answer = (_, response) => response.writeHead(401).end('{"error":{"code":"unauthorized","message":"no"}}');
    expect(await failure(codecell.list())).toMatchObject({ code: "unauthorized" });
  });

  test("refuses events that are left out, and a run that never starts", async () => {
    const one = await session((_, response) => {
      response.write('data: {"type":"run","run_id":"run_1"}\n\n');
      response.write('data: {"type":"stdout","offset":5,"text":"x"}\n\n');
    });
    const run = one.run("x");
    const read = async () => {
      for await (const _ of run);
    };
    expect((await failure(read())).text).toContain("left out events");
    answer = (_, response) => response.end(": nothing\n\n");
    expect((await failure(one.run("x"))).code).toBe("service_unavailable");
  });

  test("encodes names, so that none reaches another route", async () => {
    const one = await session((_, response) => response.writeHead(404).end());
    const files = await one.files();
    for (const path of ["a/%2e%2e/%2f", "a?b#c", "a\\b", "ü"]) await failure(files.read(path));
    expect(seen.slice(1).map((request) => request.url)).toEqual([
      "/v1/sessions/s/files/a/%252e%252e/%252f",
      "/v1/sessions/s/files/a%3Fb%23c",
      "/v1/sessions/s/files/a%5Cb",
      "/v1/sessions/s/files/%C3%BC",
    ]);
    seen = [];
    const wrong = [
      ...["../x", "a/..", "./a", "", "a//b", "\ud800"].map((path) => files.read(path)),
      ...[one.rollback(".."), one.forgetCheckpoint("."), one.runReceipt(".."), one.getBytes("..")],
      ...[codecell.session(".."), codecell.info("."), codecell.closeSession(".."), codecell.fork(".")],
    ];
    await Promise.all(wrong.map(failure));
    expect(seen.map((request) => request.url)).toEqual([]);
  });
});

describe("connect", () => {
  test("refuses addresses that would show the token to others", async () => {
    for (const wrong of [
      "http://cells.example",
      "ftp://x",
      "http://user:pass@127.0.0.1",
      "nonsense",
      "http://127.0.0.1/?x",
    ])
      expect([wrong, (await failure(connect({ url: wrong, token }))).code]).toEqual([wrong, "usage"]);
    expect((await failure(connect({ url, token: "with\nline" }))).text).not.toContain("line\n");
  });

  test("sends the token with every request, and no token with a download by link", async () => {
    answer = (_, response) => response.end('{"sessions":[]}');
    await codecell.list();
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${token}`);
    answer = (_, response) => response.writeHead(200, { "content-length": "2" }).end("ab");
    await using file = await codecell.download(`${url}/v1/download/abc`);
    for await (const chunk of file.data) expect(chunk.byteLength).toBe(2);
    expect(seen[1]?.headers.authorization).toBeUndefined();
    expect((await failure(codecell.download(`${url}/v1/sessions`))).code).toBe("usage");
  });
});
