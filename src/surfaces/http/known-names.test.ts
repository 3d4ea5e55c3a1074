import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { nameCheck } from "./known-names.ts";

const check = nameCheck(["Cells.example", "fd00::1", "localhost:9000", "127.0.0.1"]);
const passes = (headers: object, method = "POST") => {
  try {
    const request = { method, headers, rawHeaders: Object.entries(headers).flat(), socket: { localPort: 7410 } };
    check(request as unknown as IncomingMessage);
    return true;
  } catch {
    return false;
  }
};

test("a request to localhost or to a configured host name is accepted", () => {
  for (const host of [
    "localhost",
    "127.0.0.1:7410",
    "[::1]:7410",
    "cells.example",
    "CELLS.example:443",
    "[fd00::1]:1",
  ]) {
    expect(passes({ host }), host).toBe(true);
  }
});

test("a request with an unknown Host header is refused", () => {
  for (const host of [undefined, "", "attacker.example", "127.0.0.1.attacker.example", "localhost.attacker.example"]) {
    expect(passes({ host }), host).toBe(false);
  }
});

test("a request to a local name with the port of another service is refused, unless the operator named it", () => {
  for (const host of ["localhost:80", "127.0.0.1:7411", "[::1]:1"]) expect(passes({ host }), host).toBe(false);
  expect(passes({ host: "localhost:9000" })).toBe(true);
  expect(passes({ host: "127.0.0.1:9000" })).toBe(false);
});

test("a request from a page on another port of this machine is refused", () => {
  const from = (origin: string, host = "localhost:7410") => passes({ host, origin });
  expect(from("http://localhost:7410")).toBe(true);
  expect(from("http://127.0.0.1:7410")).toBe(true);
  expect(from("http://localhost", "localhost")).toBe(true);
  for (const origin of ["http://localhost:3000", "http://127.0.0.1:80", "http://localhost", "http://[::1]:7411"]) {
    expect(from(origin), origin).toBe(false);
  }
});

test("a request that a browser marks as cross-site is refused, but a link may be opened from any page", () => {
  const site = (value: string, mode = "cors", method = "POST") =>
    passes({ host: "localhost", "sec-fetch-site": value, "sec-fetch-mode": mode }, method);
  expect([site("same-origin"), site("none")]).toEqual([true, true]);
  expect([site("cross-site"), site("same-site"), site("cross-site", "no-cors", "GET")]).toEqual([false, false, false]);
  expect([site("cross-site", "navigate", "GET"), site("cross-site", "navigate", "POST")]).toEqual([true, false]);
});

test("a request with more than 100 header fields is refused", () => {
  const fields = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, "1"]));
  expect(passes({ host: "localhost", ...fields(99) })).toBe(true);
  expect(passes({ host: "localhost", ...fields(100) })).toBe(false);
});

test("a request with the Origin of another site is refused", () => {
  const from = (origin: string) => passes({ host: "localhost", origin });
  expect(from("http://localhost:7410")).toBe(true);
  expect(from("https://cells.example")).toBe(true);
  for (const origin of ["https://attacker.example", "null", "file://", "http://localhost@attacker.example"]) {
    expect(from(origin), origin).toBe(false);
  }
});
