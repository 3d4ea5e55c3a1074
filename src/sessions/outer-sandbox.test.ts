import { expect, test } from "vitest";
import { CodecellError } from "../lib/errors.ts";
import type { PassedOverKind } from "../runners/registry.ts";
import { namingOuterSandbox } from "./outer-sandbox.ts";

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

test("errors that an outer sandbox cannot cause are not changed", async () => {
  for (const error of [new CodecellError("usage", "no"), new Error("no"), "no"]) {
    expect(await namingOuterSandbox(error, inside)).toBe(error);
  }
});
