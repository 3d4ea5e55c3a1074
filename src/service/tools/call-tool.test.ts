import { describe, expect, test } from "vitest";
import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { type Logger, silentLogger } from "../../lib/log/logger.ts";
import { LazySandbox } from "../lazy-sandbox.ts";
import { callTool } from "./call-tool.ts";
import { defineTool, type Tool, type ToolReply } from "./tool.ts";
import { toolHints } from "./tool-hints.ts";

const facts = z.object({ count: z.number() });

function newTool(call: () => Promise<ToolReply<z.output<typeof facts>>>, more: Partial<Tool> = {}): Tool {
  return { ...defineTool({ ...about, call }), ...more };
}
const about = {
  ...{ name: "count", title: "Count", description: "Counts." },
  ...{ input: z.strictObject({}), output: facts, effect: "reads" as const },
};

function newSandbox(isForGuests = false): LazySandbox {
  return new LazySandbox({ projectDir: "/nowhere", open: () => Promise.reject(new Error("not needed")), isForGuests });
}

const context = { signal: new AbortController().signal };

describe("callTool", () => {
  test("returns the facts, and their JSON as text if the tool has no text", async () => {
    const tool = newTool(async () => ({ facts: { count: 2 } }));
    expect(await callTool(tool, newSandbox(), { args: {}, context })).toEqual({
      ...{ isError: false, facts: { count: 2 }, content: [{ type: "text", text: '{"count":2}' }] },
    });
  });

  test("returns the text of a tool first, then its images", async () => {
    const image = { type: "image", data: "AA==", mimeType: "image/png" } as const;
    const tool = newTool(async () => ({ facts: { count: 2 }, text: "two", more: [image] }));
    const { content } = await callTool(tool, newSandbox(), { args: {}, context });
    expect(content).toEqual([{ type: "text", text: "two" }, image]);
  });

  test("returns a failure as an error with the next step", async () => {
    const tool = newTool(() => Promise.reject(new CodecellError("run_gone", "there is no such run")));
    const outcome = await callTool(tool, newSandbox(), { args: {}, context });
    expect(outcome).toEqual({
      isError: true,
      error: { code: "run_gone", message: "there is no such run", hint: "run the code again" },
      content: [{ type: "text", text: "run_gone: there is no such run\nnext: run the code again" }],
    });
  });

  test("names no other tool in a failure if the model has only this one", async () => {
    const tool = newTool(() => Promise.reject(new CodecellError("session_busy", "it is busy")));
    const only = new LazySandbox({
      projectDir: "/nowhere",
      open: () => Promise.reject(new Error()),
      hasOnlyTool: true,
    });
    const { content } = await callTool(tool, only, { args: {}, context });
    expect(content).toEqual([
      { type: "text", text: "session_busy: it is busy\nnext: call again later: other code is running in this session" },
    ]);
  });

  test("rejects arguments that do not match the tool's schema, and names them", async () => {
    const tool = newTool(async () => ({ facts: { count: 2 } }));
    const outcome = await callTool(tool, newSandbox(), { args: { unknown: 1 }, context });
    expect(outcome).toMatchObject({
      isError: true,
      error: { code: "usage", message: expect.stringContaining("unknown") },
    });
  });

  test("logs the error that it hides from a guest", async () => {
    const errors: string[] = [];
    const logger: Logger = { ...silentLogger, error: (message) => void errors.push(message) };
    const tool = newTool(() => Promise.reject(new Error("EACCES: '/srv/state'")));
    const outcome = await callTool(tool, newSandbox(true), { args: {}, context, logger });
    expect(JSON.stringify(outcome)).not.toContain("/srv");
    expect(errors).toEqual(["count failed: EACCES: '/srv/state'"]);
    await callTool(tool, newSandbox(false), { args: {}, context, logger });
    expect(errors).toHaveLength(1);
  });
});

test("the hints of a tool depend on the policy only if the tool runs code", () => {
  const open = { writesHost: true, reachesNetwork: true };
  const reads = newTool(async () => ({ facts: { count: 1 } }));
  expect(toolHints(reads, open)).toEqual({
    ...{ readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  });
  expect(toolHints({ ...reads, effect: "code" }, open)).toEqual({
    ...{ readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  });
});
