import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holderEnvironment, warmKey } from "./warm-key.ts";

let cwd: string;
let other: string;

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "codecell-key-"));
  other = join(cwd, "other");
  mkdirSync(other);
});

afterEach(() => rmSync(cwd, { recursive: true }));

const env = { HOME: "/home/someone", PATH: "/usr/bin" };

test("calls of the same kind have the same key, in any directory without a policy", () => {
  expect(warmKey({}, { cwd, env })).toMatch(/^[0-9a-f]{24}$/);
  expect(warmKey({}, { cwd, env })).toBe(warmKey({}, { cwd: other, env: { ...env, SHLVL: "3", API_KEY: "k" } }));
});

test("flags, the state directory and variables that choose the runner change the key", () => {
  const keys = [
    warmKey({}, { cwd, env }),
    warmKey({ timeout: "5s" }, { cwd, env }),
    warmKey({ memory: "1GiB" }, { cwd, env }),
    warmKey({ runner: "wasm" }, { cwd, env }),
    warmKey({ "output-limit": "1MiB" }, { cwd, env }),
    warmKey({ "state-dir": "state" }, { cwd, env }),
    warmKey({}, { cwd, env: { ...env, DOCKER_HOST: "unix:///x" } }),
    warmKey({}, { cwd, env: { ...env, KUBECONFIG: "/x" } }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test("credentials that a variable names by a relative path make the directory count", () => {
  const key = (cwd: string, KUBECONFIG: string) => warmKey({}, { cwd, env: { ...env, KUBECONFIG } });
  expect(key(cwd, "/a:/b")).toBe(key(other, "/a:/b"));
  expect(key(cwd, "/a:b")).not.toBe(key(other, "/a:b"));
});

test("a policy file that appears, is edited, or may be written by others changes the key", () => {
  const file = join(cwd, "sandbox.policy.yaml");
  const key = () => warmKey({}, { cwd, env });
  const keys = [key()];
  writeFileSync(file, "proc: { timeout: 1s }\n");
  keys.push(key());
  writeFileSync(file, "proc: { timeout: 2s }\n");
  keys.push(key());
  chmodSync(file, 0o666);
  keys.push(key(), warmKey({}, { cwd: other, env: { ...env, CODECELL_POLICY: file } }));
  expect(new Set(keys).size).toBe(keys.length);
  expect(key()).toBe(keys[3]);
});

test("a policy that is not a regular file has no key, and is not waited for", () => {
  expect(() => warmKey({ policy: "." }, { cwd, env })).toThrow("not a small regular file");
});

test("a holder gets no variable but those that choose its policy and its runner", () => {
  const given = { ...env, ANTHROPIC_API_KEY: "secret", AWS_SECRET_ACCESS_KEY: "secret", DOCKER_HOST: "unix:///x" };
  expect(holderEnvironment(given)).toEqual({ ...env, DOCKER_HOST: "unix:///x" });
});
