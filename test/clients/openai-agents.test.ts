import { Agent, applyPatchTool, run, type Shell, setTracingDisabled, shellTool, type Tool } from "@openai/agents";
import { Manifest, SandboxAgent, type SandboxClient, type SandboxSession } from "@openai/agents/sandbox";
import { assistantMessage, functionCall, ScriptedModel } from "@openai/agents/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Session } from "../../src/sessions/session.ts";
import {
  type CodeSession,
  codeTool,
  sandboxClient,
  sandboxSession,
  sessionEditor,
  sessionShell,
} from "../../src/surfaces/frameworks/openai-agents/index.ts";
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

setTracingDisabled(true);

describe.skipIf(await lacking("process runner"))("codecell/openai-agents", () => {
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
    const outputs = await answers(made(session), [
      [{ code: "print('printed')\nseen = 41\nseen + 1", language: null, timeout: null }],
      [{ code: "seen / 0" }],
      [{ code: showImage }],
      [{ code: printMuch }],
      [{ code: 7 }],
      ['{"code": "1'],
      ["[]"],
    ]);
    expect(textOf(outputs[0])).toMatch(/^status: ok · \d+ ms\n\[value\]\n42\n\[stdout\]\nprinted$/);
    expect(textOf(outputs[1])).toMatch(/^status: error · \d+ ms\nZeroDivisionError: division by zero/);
    expect(JSON.stringify(outputs[2])).toContain(imageBase64);
    expect(textOf(outputs[3])).toMatch(/too long to show in full: .*[\s\S]*were not kept/);
    expect(textOf(outputs[3]).length).toBeLessThan(20_000);
    expect(textOf(outputs[4])).toMatch(/^usage: the arguments are not valid: [\s\S]*next: correct the arguments/);
    expect(textOf(outputs[5])).toContain("try again with valid JSON");
    expect(textOf(outputs[6])).toMatch(/^usage: the arguments are not valid: [\s\S]*next: correct the arguments/);
  });

  test("calls of one turn run one after the other", async () => {
    const calls = Array.from({ length: 5 }, (_, n) => ({ code: `turns = globals().get("turns", []) + [${n}]; turns` }));
    const outputs = await answers(session, [calls]);
    expect(textOf(outputs[4])).toContain("[0, 1, 2, 3, 4]");
  });

  test("aborting the run of the agent interrupts the code and keeps the session", async () => {
    const stop = new AbortController();
    const other = await opened.codecell.session();
    const started = waitForFile(other, "started");
    const model = fakeModel([[{ code: sleepUntilInterrupted }]]);
    const agent = new Agent({ name: "a", model, tools: [await codeTool(other)] });
    const running = run(agent, "go", { signal: stop.signal });
    running.then(undefined, () => {});
    await started;
    stop.abort();
    await expect(running).rejects.toThrow();
    expect((await other.run("was_interrupted", { whenBusy: "queue" })).value).toBe("True");
  });

  test("a closed session is a result that tells the model, and the agent continues", async () => {
    const closed = await opened.codecell.session();
    await closed.close({ forget: true });
    const [output] = await answers(closed, [[{ code: "1" }]]);
    expect(textOf(output)).toMatch(/^session_closed: [\s\S]*\nnext: tell the user: /);
  });

  test("shellTool runs commands in the cell, with a timeout per command and a limit of output", async () => {
    const shell: Shell = sessionShell(session);
    const tool: Tool = shellTool({ shell });
    expect(tool.type).toBe("shell");
    const commands = ["echo out; echo err >&2; exit 3", "sleep 20", "pwd", "yes | head -c 5000000 | tr -d '\\n'"];
    const { output, maxOutputLength } = await shell.run({ commands, timeoutMs: 1_000, maxOutputLength: 500 });
    expect(maxOutputLength).toBe(500);
    expect(output.slice(0, 3)).toEqual([
      { stdout: "out\n", stderr: "err\n", outcome: { type: "exit", exitCode: 3 } },
      { stdout: "", stderr: expect.stringContaining("pass a longer timeout up to 30"), outcome: { type: "timeout" } },
      { stdout: "/workspace\n", stderr: "", outcome: { type: "exit", exitCode: 0 } },
    ]);
    expect(output[3]?.stdout).toMatch(/^y+\n… [\d,]+ characters left out …\ny+$/);
    expect(output[3]?.stdout.length).toBeLessThanOrEqual(500);
  });

  test("applyPatchTool changes files of the workspace, and no other file", async () => {
    const editor = sessionEditor(session);
    expect(applyPatchTool({ editor }).type).toBe("apply_patch");
    const created = await editor.createFile({ type: "create_file", path: "src/a.txt", diff: "+one\n+two" });
    expect(created).toEqual({ status: "completed", output: "created src/a.txt" });
    const diff = "@@\n one\n-two\n+three";
    await editor.updateFile({ type: "update_file", path: "/workspace/src/a.txt", diff, moveTo: "b.txt" });
    expect((await session.run("print(open('b.txt').read())")).stdout).toMatch(/^one\nthree\n/);
    expect((await session.listFiles({ prefix: "src/" })).files).toEqual([]);
    const again = await editor.updateFile({ type: "update_file", path: "b.txt", diff });
    expect(again).toMatchObject({ status: "failed", output: expect.stringMatching(/two/) });
    for (const path of ["../b.txt", "/etc/passwd", "/workspace/../etc/passwd", "src/../../b.txt"]) {
      const refused = await editor.deleteFile({ type: "delete_file", path });
      expect(refused).toMatchObject({ status: "failed", output: expect.stringContaining("is not in /workspace") });
    }
    expect(await editor.deleteFile({ type: "delete_file", path: "b.txt" })).toMatchObject({ status: "completed" });
  });

  test("a SandboxAgent works in a session of its own, which ends with the run", async () => {
    const client: SandboxClient = sandboxClient(opened.codecell);
    const before = (await opened.codecell.list()).length;
    const model = new ScriptedModel([
      [
        functionCall(
          "exec_command",
          { cmd: "cat notes/in.txt; ls -d it*; echo made > out.txt", tty: false },
          { callId: "1" },
        ),
      ],
      [functionCall("exec_command", { cmd: "cat out.txt; pwd; exit 4", workdir: "notes" }, { callId: "2" })],
      [functionCall("exec_command", { cmd: "vi", tty: true }, { callId: "3" })],
      [functionCall("view_image", { path: "notes/../../etc/passwd" }, { callId: "4" })],
      [assistantMessage("done")],
    ]);
    const defaultManifest = new Manifest({
      entries: {
        notes: { type: "dir", children: { "in.txt": { type: "file", content: "given\n" } } },
        "it's empty": { type: "dir" },
      },
    });
    const agent = new SandboxAgent({ name: "s", model, defaultManifest });
    const result = await run(agent, "go", { sandbox: { client } });
    expect(result.finalOutput).toBe("done");
    const outputs = outputsOf(model).map(textOf);
    expect(outputs[0]).toMatch(/Process exited with code 0\nOutput:\ngiven\nit's empty\n$/);
    expect(outputs[1]).toContain("Process exited with code 4\n");
    // The two streams come in any order, and cat writes its line in pieces.
    const printed = "/workspace/notes\n";
    expect(outputs[1]).toContain(printed);
    expect(outputs[1]?.replace(printed, "")).toContain("cat: out.txt: No such file or directory\n");
    expect(outputs[2]).toContain("there is no terminal in this sandbox");
    expect(outputs[3]).toMatch(/unable to read image|not found/);
    expect((await opened.codecell.list()).length).toBe(before);
  });

  test("a manifest that a cell cannot have is refused", async () => {
    const client = sandboxClient(opened.codecell);
    const before = (await opened.codecell.list()).length;
    const environment = new Manifest({ environment: { KEY: "value" } });
    await expect(client.create({ manifest: environment })).rejects.toMatchObject({ code: "not_supported" });
    await expect(client.create(environment)).rejects.toMatchObject({
      hint: "set them in the policy (env)", // the other form of the call
    });
    await expect(client.create({ options: { exposedPorts: [80] } })).rejects.toThrow(/the options exposedPorts/);
    for (const init of [
      { extraPathGrants: [{ path: "/etc" }] },
      { entries: { a: { type: "file", content: "", permissions: 0o600 } } },
      { users: [{ name: "root" }] },
    ] as const) {
      await expect(client.create({ manifest: new Manifest(init as object) })).rejects.toThrow(/codecell sandbox/);
    }
    const local = new Manifest({ entries: { etc: { type: "local_dir", src: "/etc" } } });
    await expect(client.create({ manifest: local })).rejects.toMatchObject({ code: "not_supported" });
    const outside = new Manifest({ entries: { a: { type: "file", content: "" } } });
    const sandbox: SandboxSession & { materializeEntry: unknown } = await sandboxSession(session);
    expect(outside.root).toBe("/workspace");
    const asRoot = { path: "a", runAs: "root" };
    for (const call of [
      async () => sandbox.exec?.({ cmd: "id", runAs: "root" }),
      async () => sandbox.createEditor?.("root"),
      async () => sandbox.viewImage?.(asRoot),
      async () => sandbox.readFile?.(asRoot),
      async () => sandbox.listDir?.(asRoot),
      async () => sandbox.pathExists?.("a", "root"),
      async () => sandbox.directoryExists?.("a", "root"),
      async () => sandbox.materializeEntry?.({ ...asRoot, entry: { type: "dir" } }),
    ]) {
      await expect(call()).rejects.toThrow(/a cell has one user[\s\S]*remove runAs from the agent/);
    }
    expect(await sandbox.execCommand?.({ cmd: "id", runAs: "root" })).toMatch(
      /^The command did not run[\s\S]*one user/,
    );
    await expect(
      sandbox.materializeEntry?.({ path: "../a", entry: { type: "file", content: "" } }),
    ).rejects.toMatchObject({ code: "file_refused" });
    expect((await opened.codecell.list()).length).toBe(before);
  });
});

/** What the model gets for its calls; each list is one turn. */
async function answers(session: CodeSession, turns: (object | string)[][]): Promise<unknown[]> {
  const model = fakeModel(turns);
  const { finalOutput } = await run(new Agent({ name: "a", model, tools: [await codeTool(session)] }), "go", {
    maxTurns: 20,
  });
  expect(finalOutput).toBe("done");
  return outputsOf(model);
}

/** A fake model that makes these calls, turn by turn, and then says that it is done. */
function fakeModel(turns: (object | string)[][]): ScriptedModel {
  const calls = turns.map((turn, at) =>
    turn.map((input, index) =>
      functionCall("run_python", input as string | Record<string, unknown>, { callId: `${at}-${index}` }),
    ),
  );
  return new ScriptedModel([...calls, [assistantMessage("done")]]);
}

function outputsOf(model: ScriptedModel): unknown[] {
  const input = model.lastCall?.request.input ?? [];
  const items = typeof input === "string" ? [] : input;
  return items.flatMap((item) => (item.type === "function_call_result" ? [item.output] : []));
}

function textOf(output: unknown): string {
  const { text } = Object(output);
  return typeof text === "string" ? text : String(output);
}
