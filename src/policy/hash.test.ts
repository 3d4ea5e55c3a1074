import { expect, test } from "vitest";
import { parsePolicy } from "./file/parse-policy.ts";
import { canonicalJson, policyHash } from "./hash.ts";

test("policies that mean the same have the same hash", () => {
  const one = parsePolicy({ proc: { memory: "1GiB", timeout: "60s" }, env: { A: "1", B: "2" } });
  const other = parsePolicy({
    env: { B: "2", A: "1" },
    proc: { timeout: "1m", memory: "1024MiB" },
    net: { enabled: false },
  });
  expect(policyHash(one)).toMatch(/^[0-9a-f]{64}$/);
  expect(policyHash(one)).toBe(policyHash(other));
  expect(policyHash({ ...one, fs: { ...one.fs, workspace: undefined } })).toBe(policyHash(one));
});

test("policies that differ in any rule have different hashes", () => {
  const inputs = [
    {},
    { proc: { pids: 65 } },
    { env: { A: "" } },
    { env: { A: "1" } },
    { fs: { deny: ["x"] } },
    { kernel: { preload: ["os"] } },
  ];
  expect(new Set(inputs.map((input) => policyHash(parsePolicy(input)))).size).toBe(inputs.length);
});

test("canonicalJson does not depend on the order of keys, at any depth", () => {
  expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: undefined })).toBe('{"b":[{"c":2,"d":1}]}');
});
