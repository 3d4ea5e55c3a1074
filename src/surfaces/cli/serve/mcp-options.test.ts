import { expect, test } from "vitest";
import { policyFileName } from "../../../policy/file/load-policy.ts";
import { assertHttpFlags, parsePort, parseToolset } from "./mcp-options.ts";
import { defaultPolicyFile } from "./mcp-outlook.ts";

test("parsePort accepts only valid ports", () => {
  expect(parsePort(undefined)).toBe(0);
  expect(parsePort("7411")).toBe(7411);
  for (const text of ["", "x", "-1", "65536", "1.5", "0x10"]) expect(() => parsePort(text), text).toThrow(/--port/);
});

test("codecell mcp rejects --port without --http", () => {
  for (const name of ["port", "host", "token-file"]) {
    expect(() => assertHttpFlags({ [name]: "1" }), name).toThrow(`--${name} has no effect without --http`);
    expect(() => assertHttpFlags({ [name]: "1", http: true }), name).not.toThrow();
  }
  expect(() => assertHttpFlags({})).not.toThrow();
});

test("parseToolset accepts only known toolsets", () => {
  expect(parseToolset(undefined)).toBe("all");
  expect(parseToolset("rlm")).toBe("rlm");
  expect(() => parseToolset("rml")).toThrow(/unknown toolset/);
});

test("codecell mcp looks for the same policy file name as the parser", () => {
  expect(defaultPolicyFile).toBe(policyFileName);
});
