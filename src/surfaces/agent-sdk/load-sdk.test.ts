import { expect, test } from "vitest";
import { type AgentSdk, loadAgentSdk } from "./load-sdk.ts";

const hint = "npm install @anthropic-ai/claude-agent-sdk@^0.3.325";

test("a missing Agent SDK is an error with the command that installs it", async () => {
  const missing = Object.assign(new Error("no package"), { code: "ERR_MODULE_NOT_FOUND" });
  await expect(loadAgentSdk(() => Promise.reject(missing))).rejects.toMatchObject({
    ...{ code: "usage", message: "@anthropic-ai/claude-agent-sdk is not installed", hint },
  });
});

test("an Agent SDK that breaks while it loads is not called missing", async () => {
  await expect(loadAgentSdk(() => Promise.reject(new SyntaxError("?")))).rejects.toMatchObject({
    ...{ code: "usage", message: "@anthropic-ai/claude-agent-sdk cannot be loaded", hint },
  });
});

test("an Agent SDK whose hooks cannot fail closed is refused", async () => {
  await expect(loadAgentSdk(async () => ({}) as AgentSdk)).rejects.toMatchObject({
    ...{ code: "usage", message: expect.stringContaining("too old"), hint },
  });
});
