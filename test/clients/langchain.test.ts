import { AIMessage, type ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { createDeepAgent, isSandboxBackend, type SandboxBackendProtocolV2 } from "deepagents";
import { createAgent, fakeModel as langchainFakeModel } from "langchain";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/sessions/session.ts";
import { type CodeSession, codeTool, sessionBackend } from "../../src/surfaces/frameworks/langchain/index.ts";
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

type Call = readonly [name: string, args: Record<string, unknown>];

describe.skipIf(await lacking("process runner"))("codecell/langchain", () => {
  let opened: OpenCodecell;
  let session: Session;
  beforeAll(async () => {
    opened = await openCodecell();
    session = await opened.codecell.session();
  });
  afterAll(() => opened[Symbol.asyncDispose]());

  test.each([
    ["the library's session", (own: Session) => own],
    ["a session with no more than the client's", clientLike],
  ])("the model reads value, output, errors and images of %s", async (_, made) => {
    const messages = await answers(made(session), [
      [["run_python", { code: "print('printed')\nseen = 41\nseen + 1" }]],
      [["run_python", { code: "seen / 0" }]],
      [["run_python", { code: showImage }]],
      [["run_python", { code: printMuch }]],
    ]);
    expect(messages[0]?.content).toMatch(/^status: ok · \d+ ms\n\[value\]\n42\n\[stdout\]\nprinted$/);
    expect(messages.map(({ artifact }) => artifact.status)).toEqual(["ok", "error", "ok", "ok"]);
    expect(messages[1]?.content).toMatch(/^status: error · \d+ ms\nZeroDivisionError: division by zero/);
    const image = { type: "image", mimeType: "image/png", data: imageBase64 };
    expect(messages[2]?.content).toEqual([{ type: "text", text: expect.any(String) }, image]);
    expect(messages[3]?.content).toMatch(/too long to show in full: .*[\s\S]*were not kept/);
    expect(messages[3]?.content.length).toBeLessThan(20_000);
  });

  test("calls of one turn run one after the other", async () => {
    const code = (n: number) => `turns = globals().get("turns", []) + [${n}]; turns`;
    const calls = Array.from({ length: 5 }, (_, n): Call => ["run_python", { code: code(n) }]);
    const messages = await answers(session, [calls]);
    expect(messages[4]?.content).toContain("[0, 1, 2, 3, 4]");
  });

  test("a signal interrupts the code and keeps the session", async () => {
    const stop = new AbortController();
    const other = await opened.codecell.session();
    const tool: StructuredToolInterface = await codeTool(other);
    const running = tool.invoke({ code: sleepUntilInterrupted }, { signal: stop.signal });
    running.then(undefined, () => {});
    await waitForFile(other, "started");
    stop.abort();
    await expect(running).rejects.toThrow(/abort/i);
    expect((await other.run("was_interrupted", { whenBusy: "queue" })).value).toBe("True");
  });

  test("a closed session is an error message for a model, and an exception for a program", async () => {
    const closed = await opened.codecell.session();
    await closed.close({ forget: true });
    const [message] = await answers(closed, [[["run_python", { code: "1" }]]]);
    expect(message?.status).toBe("error");
    expect(message?.content).toMatch(/^session_closed: [\s\S]*\nnext: tell the user: /);
    await expect((await codeTool(closed)).invoke({ code: "1" })).rejects.toMatchObject({ code: "session_closed" });
  });

  test("the file tools and the shell of a deep agent work on the files of the workspace", async () => {
    const own = await opened.codecell.session();
    const backend: SandboxBackendProtocolV2 = sessionBackend(own);
    expect(isSandboxBackend(backend)).toBe(true);
    const messages = await deepAnswers(backend, [
      ["write_file", { file_path: "/workspace/src/a.py", content: "one = 1\ntwo = 2\n" }],
      ["edit_file", { file_path: "/workspace/src/a.py", old_string: "two = 2", new_string: "two = one + 1" }],
      ["read_file", { file_path: "src/a.py" }],
      ["ls", { path: "/workspace" }],
      ["glob", { pattern: "**/*.py" }],
      ["grep", { pattern: "one + 1" }],
      ["execute", { command: "cd src && python3 -c 'import a; print(a.two)'; echo oops >&2; exit 3" }],
      ["write_file", { file_path: "/workspace/../etc/evil", content: "x" }],
      ["read_file", { file_path: "../../etc/passwd" }],
      ["ls", { path: "/etc" }],
      ["execute", { command: "seq 1 200000" }],
      ["read_file", { file_path: "/large_tool_results/10.txt", limit: 2 }],
      ["ls", {}],
    ]);
    expect(messages[0]).toContain("/workspace/src/a.py");
    expect(messages[2]).toMatch(/one = 1\n.*two = one \+ 1/);
    expect(messages[3]).toContain("/workspace/src/ (directory)");
    expect(messages[4]).toBe("/workspace/src/a.py");
    expect(messages[5]).toMatch(/\/workspace\/src\/a\.py[\s\S]*2: two = one \+ 1/);
    expect(messages[6]).toMatch(/^2\noops\n[\s\S]*\[Command failed with exit code 3\]$/);
    for (const refused of messages.slice(7, 10)) expect(refused).toMatch(/is not in \/workspace/);
    expect(messages[10]).toContain("/large_tool_results/10.txt");
    expect(messages[11]).toMatch(/1\n.*2/);
    expect(messages[12]).toContain("/workspace/ (directory)");
  });

  test("uploads and downloads answer for each file alone, and none leaves the workspace", async () => {
    const backend = sessionBackend(session);
    const bytes = new Uint8Array([0, 255, 10]);
    const paths = ["/workspace/data/a.bin", "../a.bin", "/etc/a.bin", "data"];
    await session.run("import os; os.makedirs('data', exist_ok=True); os.symlink('/etc/passwd', 'data/link')");
    expect((await backend.uploadFiles(paths.map((path) => [path, bytes]))).map(({ error }) => error)).toEqual([
      ...[null, "invalid_path", "invalid_path", "is_directory"],
    ]);
    const downloaded = await backend.downloadFiles([...paths, "missing", "data/link"]);
    expect(downloaded[0]).toMatchObject({ content: bytes, error: null });
    expect(downloaded.slice(1).map(({ content }) => content)).toEqual([null, null, null, null, null]);
    expect(downloaded[4]?.error).toBe("file_not_found");
    expect(await backend.delete("/workspace/data")).toMatchObject({ path: "/workspace/data" });
    expect((await session.listFiles({ prefix: "data/" })).files).toEqual([]);
    expect((await backend.delete("/workspace")).error).toContain("the workspace itself stays");
  });
});

/** The messages that the model gets for its calls; each list is one turn. */
async function answers(session: CodeSession, turns: Call[][]): Promise<ToolMessage[]> {
  const agent = createAgent({ model: fakeModel(turns), tools: [await codeTool(session)] });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "go" }] });
  return messages.filter((message) => message.type === "tool") as ToolMessage[];
}

async function deepAnswers(backend: SandboxBackendProtocolV2, calls: Call[]): Promise<string[]> {
  const agent = createDeepAgent({ model: fakeModel(calls.map((call) => [call])), backend });
  const { messages } = await agent.invoke({ messages: [{ role: "user", content: "go" }] }, { recursionLimit: 200 });
  return messages.filter((message) => message.type === "tool").map((message) => message.text);
}

/** LangChain's fake model: makes these calls, turn by turn, and then says that it is done. */
function fakeModel(turns: Call[][]) {
  const model = langchainFakeModel();
  for (const [at, turn] of turns.entries()) {
    const id = (index: number) => (turn.length === 1 ? `${at}` : `${at}-${index}`);
    model.respond(
      new AIMessage({ content: "", tool_calls: turn.map(([name, args], index) => ({ name, args, id: id(index) })) }),
    );
  }
  return model.respond(new AIMessage("done"));
}
