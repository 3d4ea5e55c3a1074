import { expect, test } from "vitest";
import { CodecellError } from "../lib/errors.ts";
import type { PassedOverKind } from "../runners/registry.ts";
import { isLikelyCause, namingOuterSandbox } from "./outer-sandbox.ts";

const inside = { SANDBOX_RUNTIME: "1", CLAUDECODE: "1" };

test("a runner that is unavailable inside another sandbox names that sandbox, and its remedy comes first", async () => {
  const error = new CodecellError("runner_unavailable", "no runner is available", { hint: "install bubblewrap" });
  expect(await namingOuterSandbox(error, inside)).toMatchObject({
    code: "runner_unavailable",
    message: "no runner is available; codecell runs inside Claude Code's sandbox for shell commands",
    hint: expect.stringMatching(/^use the MCP tools.*excludedCommands.*; or else: install bubblewrap$/),
    details: { outerSandbox: "claude-code" },
  });
});

test("a refused policy names the outer sandbox only if a runner was unavailable", async () => {
  const refused = (...kinds: PassedOverKind[]) =>
    new CodecellError("policy_refused", "no", { details: { passedOver: kinds.map((kind) => ({ kind })) } });
  const outright = refused("refused", "below_minimum");
  expect(await namingOuterSandbox(outright, inside)).toBe(outright);
  const message = expect.stringContaining("runs inside");
  expect(await namingOuterSandbox(refused("unavailable", "refused"), inside)).toMatchObject({
    message,
  });
});

const container = { kind: "container", name: "a docker container", remedy: "allow user namespaces" } as const;
const shell = { kind: "claude-code", name: "Claude Code's sandbox", remedy: "use the MCP tools" } as const;

test.each([
  ["a full disk", "cell_start_failed", "the template process exited: OSError: [Errno 28] No space left on device"],
  ["a module that is not installed", "cell_start_failed", "kernel.preload failed: No module named 'nosuch'"],
  ["a wrong setting", "runner_unavailable", "/usr/bin/true does not run as Python: Unexpected end of JSON input"],
  ["an engine that does not run", "runner_unavailable", "no container engine answers on this machine"],
  ["what the runner has explained", "runner_unavailable", "this docker container forbids namespaces: bwrap: EPERM"],
] as const)("a container is not blamed for %s", (_, code, message) => {
  expect(isLikelyCause(container, new CodecellError(code, message))).toBe(false);
});

test("a container is named if the error shows that something was forbidden", () => {
  const message = "sandbox-runtime cannot run a command here: bwrap: Creating new namespace failed";
  expect(isLikelyCause(container, new CodecellError("runner_unavailable", message))).toBe(true);
});

test("a sandbox for shell commands is named for an unavailable runner, and for a failed start only with evidence", () => {
  expect(isLikelyCause(shell, new CodecellError("runner_unavailable", "no engine answers"))).toBe(true);
  expect(isLikelyCause(shell, new CodecellError("cell_start_failed", "No space left on device"))).toBe(false);
  const denied = new CodecellError("cell_start_failed", "it exited", { details: { diagnostics: "socket: EPERM" } });
  expect(isLikelyCause(shell, denied)).toBe(true);
});

test("a runner that does not exist is not blamed on the outer sandbox", async () => {
  const error = new CodecellError("runner_unavailable", "no such runner", { details: { isUnknownRunner: true } });
  expect(await namingOuterSandbox(error, inside)).toBe(error);
});

test("errors that an outer sandbox cannot cause are not changed", async () => {
  for (const error of [new CodecellError("usage", "no"), new Error("no"), "no"]) {
    expect(await namingOuterSandbox(error, inside)).toBe(error);
  }
});
