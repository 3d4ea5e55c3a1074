import { expect, test } from "vitest";
import { detectOuterSandbox } from "./outer-sandbox.ts";

const free = { container: undefined, isNested: false };
const kindOf = (env: Record<string, string>, facts: Partial<typeof free> | { container: string } = {}) =>
  detectOuterSandbox(env, { ...free, ...facts })?.kind;

test("no outer sandbox is found if there are no signs of one", () => {
  expect(kindOf({ PATH: "/usr/bin", CLAUDECODE: "1", SANDBOX_RUNTIME: "0" })).toBeUndefined();
});

test("Claude Code's sandbox and plain srt are told apart, each with its fix", () => {
  const claude = detectOuterSandbox({ SANDBOX_RUNTIME: "1", CLAUDECODE: "1" }, { ...free, isNested: true });
  expect(claude).toMatchObject({ kind: "claude-code", remedy: expect.stringContaining("sandbox.excludedCommands") });
  expect(claude?.remedy).toContain("MCP tools");
  const srt = detectOuterSandbox({ SANDBOX_RUNTIME: "1" }, { ...free, isNested: true });
  expect(srt).toMatchObject({ kind: "srt", remedy: expect.stringContaining("wasm") });
});

test("Codex and Flatpak sandboxes are recognized by their environment variables", () => {
  expect(kindOf({ CODEX_SANDBOX: "seatbelt" })).toBe("codex");
  expect(kindOf({ CODEX_SANDBOX_NETWORK_DISABLED: "1" })).toBe("codex");
  expect(kindOf({ FLATPAK_ID: "com.example.Editor" })).toBe("flatpak");
});

test("a container and an unknown user namespace are reported as outer sandboxes", () => {
  expect(detectOuterSandbox({}, { container: "docker", isNested: true })).toMatchObject({
    kind: "container",
    name: "a docker container",
  });
  expect(detectOuterSandbox({}, { container: "other", isNested: false })?.name).toBe("a container");
  expect(kindOf({}, { isNested: true })).toBe("user-namespace");
});
