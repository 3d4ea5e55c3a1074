import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LazySandbox } from "../../service/lazy-sandbox.ts";
import type { Mount } from "./gate.ts";
import { type Listener, listen, localUrl } from "./listen.ts";
import { MountServer } from "./mount-server.ts";

const token = "0123456789abcdef";
const bearer = { authorization: `Bearer ${token}` };

let server: MountServer;
let listener: Listener;
let [opened, closed] = [0, 0];
const sandbox = new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(new Error("not needed")) });
const mount: Mount = {
  path: "/mcp",
  open(given, { maxBodyBytes }) {
    expect(given).toBe(sandbox);
    opened++;
    return {
      async handle(_request, response) {
        response.end(`at most ${maxBodyBytes}`);
      },
      [Symbol.asyncDispose]: async () => void closed++,
    };
  },
};

beforeEach(async () => {
  [opened, closed] = [0, 0];
  server = new MountServer({ sandbox, mount, token, hostNames: ["cells.example"], limits: { jsonBytes: 99 } });
  listener = await listen(server, { host: "127.0.0.1", port: 0 });
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
  await listener.end();
});

const get = (path: string, headers: Record<string, string> = bearer) => fetch(`${listener.url}${path}`, { headers });

/** `fetch` sets Host and Origin itself. */
async function statusWith(headers: Record<string, string>): Promise<number> {
  const socket = connect(listener.port, "127.0.0.1");
  const lines = Object.entries({ ...bearer, ...headers, connection: "close" }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  socket.write(`GET /mcp HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
  return Number((await text(socket)).split(" ")[1]);
}

test.each([
  ["0.0.0.0", "http://127.0.0.1:"],
  ["127.0.0.1", "http://127.0.0.1:"],
])("a service on %s learns an address that clients can use: %s", async (host, start) => {
  const learned: string[] = [];
  const service = { limits: server.limits, handle() {}, listensAt: (url: string) => void learned.push(url) };
  const opened = await listen(service, { host, port: 0 });
  await opened.end();
  expect(learned).toEqual([`${start}${opened.port}`]);
});

test("the address for clients of a service on every IPv6 address is this machine", () => {
  expect(localUrl("http://[::]:7410")).toBe("http://[::1]:7410");
  expect(localUrl("http://[::1]:7410")).toBe("http://[::1]:7410");
});

describe("a server with one mount and one token", () => {
  test("opens the handler once, at the first request with the token, and closes it when disposed", async () => {
    expect((await get("/mcp", {})).status).toBe(401);
    expect(opened).toBe(0);
    expect(await (await get("/mcp")).text()).toBe("at most 99");
    expect(await (await get("/mcp?x=1")).text()).toBe("at most 99");
    expect(opened).toBe(1);
    await server[Symbol.asyncDispose]();
    expect(closed).toBe(1);
    expect((await get("/mcp")).status).toBe(503);
  });

  test("returns 404 with a hint for other paths, and 401 without the token", async () => {
    for (const path of ["/", "/v1/sessions", "/metrics", "/mcp/x"]) {
      const other = await get(path);
      expect([path, other.status]).toEqual([path, 404]);
      expect(await other.json()).toMatchObject({ error: { hint: "this server only has /mcp" } });
      const stranger = await get(path, {});
      expect([path, stranger.status, stranger.headers.get("www-authenticate")]).toEqual([path, 401, "Bearer"]);
    }
  });

  test("refuses unknown host names and origins even with the token", async () => {
    expect(await statusWith({ host: "cells.example" })).toBe(200);
    expect(await statusWith({ host: "rebound.example" })).toBe(403);
    expect(await statusWith({ host: "localhost", origin: "http://evil.example" })).toBe(403);
    expect(await statusWith({ host: "localhost", origin: "http://localhost:3000" })).toBe(403);
    expect(await statusWith({ host: `localhost:${listener.port + 1}` })).toBe(403);
    expect(await statusWith({ host: "localhost", "sec-fetch-site": "cross-site" })).toBe(403);
    const own = `localhost:${listener.port}`;
    expect(await statusWith({ host: own, origin: `http://${own}`, "sec-fetch-site": "same-origin" })).toBe(200);
    expect(opened).toBe(1);
  });

  test("refuses two Host fields, whatever they say, and fields that would be ignored", async () => {
    const own = `localhost:${listener.port}`;
    expect(await statusWith({ host: own, Host: own })).toBe(400);
    expect(await statusWith({ host: own, Host: "evil.example" })).toBe(400);
    expect(await statusWith({ Host: "evil.example", host: own })).toBe(400);
    const many = Object.fromEntries(Array.from({ length: 120 }, (_, index) => [`x-${index}`, "1"]));
    expect(await statusWith({ host: own, ...many })).toBe(431);
    expect(await statusWith({ host: own, ...many, Host: own })).toBe(431);
    expect(opened).toBe(0);
  });
});
