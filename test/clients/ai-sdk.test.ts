import { generateText, stepCountIs, type Tool, type ToolModelMessage } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/sessions/session.ts";
import { type CodeInput, codeTool } from "../../src/surfaces/frameworks/ai-sdk/index.ts";
import {
  clientLike,
  imageBase64,
  type OpenCodecell,
  openCodecell,
  printMuch,
  showImage,
  sleepUntilInterrupted,
  waitForFile,
} from "./framework-sessions.ts";
import { lacking } from "./lacking.ts";

describe.skipIf(await lacking("process runner"))("the tool of codecell/ai-sdk with generateText", () => {
  let opened: OpenCodecell;
  let session: Session;
  beforeAll(async () => {
    opened = await openCodecell();
    session = await opened.codecell.session();
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test("fits the type of a tool, and the input and output of a call have types", async () => {
    const tool: Tool = codeTool(session);
    expect(tool.description).toMatch(/^Run Python .* Limits: 30s per run, 512MiB memory, 256MiB disk, no network\./);
    const model = fakeModel([{ code: "6 * 7" }]);
    const { steps } = await generateText({ model, tools: { run: codeTool(session) }, prompt: "go", stopWhen });
    const [call] = steps[0]?.toolCalls ?? [];
    const [result] = steps[0]?.toolResults ?? [];
    const code: string | undefined = call?.dynamic ? undefined : call?.input.code;
    const status: string | undefined = result?.dynamic ? undefined : result?.output.status;
    expect([code, status]).toEqual(["6 * 7", "ok"]);
    const [offered] = model.doGenerateCalls[0]?.tools ?? [];
    expect(offered).toMatchObject({
      inputSchema: {
        ...{ type: "object", required: ["code"], additionalProperties: false },
        properties: { code: { type: "string" }, language: { type: "string", enum: ["python", "bash"] } },
      },
    });
  });

  test.each([
    ["the library's session", (own: Session) => own],
    ["a session with no more than the client's", clientLike],
  ])("the model reads value, output, errors and images of %s", async (_, made) => {
    const outputs = await answers(made(session), [
      { code: "print('printed')\nseen = 41\nseen + 1" },
      { code: "seen / 0" },
      { code: showImage },
      { code: printMuch },
      { code: "echo from bash; exit 3", language: "bash" },
    ]);
    expect(outputs[0]).toMatchObject({ type: "text", value: expect.stringMatching(/^status: ok · \d+ ms\n/) });
    expect(textOf(outputs[0])).toContain("[value]\n42\n[stdout]\nprinted");
    expect(textOf(outputs[1])).toMatch(/^status: error · \d+ ms\nZeroDivisionError: division by zero/);
    const image = { type: "image-data", data: imageBase64, mediaType: "image/png" };
    expect(outputs[2]).toEqual({ type: "content", value: [{ type: "text", text: expect.any(String) }, image] });
    expect(textOf(outputs[3])).toMatch(/too long to show in full: .*[\s\S]*were not kept/);
    expect(textOf(outputs[3]).length).toBeLessThan(20_000);
    expect(textOf(outputs[4])).toMatch(
      /^status: error · \d+ ms\nExitStatus: bash exited with 3\n\[stdout\]\nfrom bash$/,
    );
  });

  test("calls in one step take turns in the order of the step", async () => {
    const calls = Array.from({ length: 5 }, (_, n) => ({ code: `turns = globals().get("turns", []) + [${n}]; turns` }));
    const outputs = await answers(session, [calls]);
    expect(textOf(outputs[4])).toContain("[0, 1, 2, 3, 4]");
  });

  test("aborting the generation interrupts the code and keeps the session", async () => {
    const stop = new AbortController();
    const other = await opened.codecell.session();
    const started = waitForFile(other, "started");
    const generating = generateText({
      ...{ model: fakeModel([{ code: sleepUntilInterrupted }]), prompt: "go" },
      ...{ tools: { run: codeTool(other) }, stopWhen, abortSignal: stop.signal },
    });
    generating.then(undefined, () => {});
    await started;
    stop.abort();
    await expect(generating).rejects.toThrow(/abort/i);
    expect((await other.run("was_interrupted", { whenBusy: "queue" })).value).toBe("True");
  });

  test("a failure of codecell is an error of the tool, and the model reads what to do", async () => {
    const closed = await opened.codecell.session();
    await closed.close({ forget: true });
    const [output] = await answers(closed, [{ code: "1" }]);
    expect(output?.type).toBe("error-text");
    expect(textOf(output)).toMatch(/^session_closed: [\s\S]*\nnext: tell the user: /);
  });
});

const stopWhen = stepCountIs(20);

type Output = Extract<ToolModelMessage["content"][number], { type: "tool-result" }>["output"];

/** What the model gets for its calls; calls of one step are in a list of their own. */
async function answers(session: Parameters<typeof codeTool>[0], steps: (CodeInput | CodeInput[])[]): Promise<Output[]> {
  const model = fakeModel(steps);
  await generateText({ model, tools: { run: codeTool(session) }, prompt: "go", stopWhen });
  const last = model.doGenerateCalls.at(-1)?.prompt ?? [];
  return last
    .flatMap((message) => (message.role === "tool" ? (message.content as { output: Output }[]) : []))
    .map(({ output }) => output);
}

/** A fake model that makes these calls, step by step, and then says that it is done. */
function fakeModel(steps: (CodeInput | CodeInput[])[]): MockLanguageModelV3 {
  const count = (total: number) => ({ total, noCache: total, cacheRead: 0, cacheWrite: 0, text: total, reasoning: 0 });
  const usage = { inputTokens: count(1), outputTokens: count(1) };
  let at = 0;
  return new MockLanguageModelV3({
    doGenerate: async () => {
      const step = steps[at++];
      if (step === undefined) {
        return {
          content: [{ type: "text", text: "done" }],
          finishReason: { unified: "stop", raw: "" },
          usage,
          warnings: [],
        };
      }
      const content = (Array.isArray(step) ? step : [step]).map((input, index) => ({
        ...{ type: "tool-call" as const, toolCallId: `${at}-${index}`, toolName: "run", input: JSON.stringify(input) },
      }));
      return { content, finishReason: { unified: "tool-calls", raw: "" }, usage, warnings: [] };
    },
  });
}

function textOf(output: Output | undefined): string {
  if (output?.type === "content") return output.value.map((part) => (part.type === "text" ? part.text : "")).join("");
  return output && "value" in output ? String(output.value) : "";
}
