import type { IncomingMessage } from "node:http";
import { expect, test } from "vitest";
import { nameCheck } from "./known-names.ts";

const check = nameCheck(["Cells.example", "fd00::1"]);
const passes = (headers: object) => {
  try {
    check({ headers, rawHeaders: Object.entries(headers).flat() } as IncomingMessage);
    return true;
  } catch {
    return false;
  }
};

test("a request to localhost or to a configured host name is accepted", () => {
  for (const host of ["localhost", "127.0.0.1:7410", "[::1]:80", "cells.example", "CELLS.example:443", "[fd00::1]:1"]) {
    expect(passes({ host }), host).toBe(true);
  }
});

test("a request with an unknown Host header is refused", () => {
  for (const host of [undefined, "", "attacker.example", "127.0.0.1.attacker.example", "localhost.attacker.example"]) {
    expect(passes({ host }), host).toBe(false);
  }
});

test("a request with the Origin of another site is refused", () => {
  const from = (origin: string) => passes({ host: "localhost", origin });
  expect(from("http://localhost:3000")).toBe(true);
  for (const origin of ["https://attacker.example", "null", "file://", "http://localhost@attacker.example"]) {
    expect(from(origin), origin).toBe(false);
  }
});
