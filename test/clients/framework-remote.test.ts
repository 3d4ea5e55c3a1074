import type { StructuredToolInterface } from "@langchain/core/tools";
import { isSandboxBackend, type SandboxBackendProtocolV2 } from "deepagents";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect, type RemoteCodecell, type RemoteSession } from "../../src/client/index.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { codeTool as aiTool } from "../../src/surfaces/frameworks/ai-sdk/index.ts";
import { codeTool as langChainTool, sessionBackend } from "../../src/surfaces/frameworks/langchain/index.ts";
import { sandboxClient } from "../../src/surfaces/frameworks/openai-agents/index.ts";
import { TestService } from "../support/http-service.ts";
import { imageBase64, showImage, sleepUntilInterrupted, waitForFile } from "./framework-sessions.ts";
import { lacking } from "./lacking.ts";

describe.skipIf(await lacking("process runner"))("the adapters over a session of codecell/client", () => {
  let service: TestService;
  let codecell: RemoteCodecell;
  let session: RemoteSession;
  beforeAll(async () => {
    service = await TestService.open({ runners: [processRunner()] });
    const { url, token = "" } = await service.client("frameworks", { scopes: ["admin"], sessions: 5 });
    codecell = await connect({ url, token });
    session = await codecell.session();
  });
  afterAll(async () => {
    await codecell?.close();
    await service?.[Symbol.asyncDispose]();
  });

  test("a tool shows value, errors, remedies and images, and its signal interrupts the code", async () => {
    const { execute } = aiTool(session);
    expect(await execute({ code: "print('printed')\n6 * 7" }, {})).toMatchObject({
      status: "ok",
      text: expect.stringMatching(/^status: ok · \d+ ms\n\[value\]\n42\n\[stdout\]\nprinted$/),
    });
    expect((await execute({ code: "1 / 0" }, {})).text).toMatch(
      /^status: error .*\nZeroDivisionError: division by zero/,
    );
    expect((await execute({ code: "import time; time.sleep(9)", timeout: 0.3 }, {})).text).toMatch(
      /^status: timeout .*\n[\s\S]*pass a longer timeout/,
    );
    expect((await execute({ code: showImage }, {})).images).toEqual([{ data: imageBase64, mimeType: "image/png" }]);
    const stop = new AbortController();
    const tool: StructuredToolInterface = await langChainTool(session);
    const running = tool.invoke({ code: sleepUntilInterrupted }, { signal: stop.signal });
    running.then(undefined, () => {});
    await waitForFile(session, "started");
    stop.abort();
    await expect(running).rejects.toThrow(/abort/i);
    expect((await session.run("was_interrupted", { whenBusy: "queue" })).value).toBe("True");
  });

  test("the backend of a deep agent works on the remote files and in the remote shell", async () => {
    const backend: SandboxBackendProtocolV2 = sessionBackend(session);
    expect(isSandboxBackend(backend)).toBe(true);
    await backend.write("/workspace/src/a.py", "one = 1\ntwo = 2\n");
    expect(await backend.edit("src/a.py", "two = 2", "two = one + 1")).toMatchObject({ occurrences: 1 });
    expect(await backend.read("src/a.py")).toMatchObject({ content: "one = 1\ntwo = one + 1" });
    expect((await backend.glob("**/*.py")).files?.map(({ path }) => path)).toEqual(["/workspace/src/a.py"]);
    expect((await backend.grep("one +")).matches).toMatchObject([{ path: "/workspace/src/a.py", line: 2 }]);
    expect(await backend.execute("cd src && python3 -c 'import a; print(a.two)'; exit 3")).toEqual({
      ...{ output: "2\n", exitCode: 3, truncated: false },
    });
    expect(await backend.uploadFiles?.([["/etc/x", new Uint8Array()]])).toEqual([
      { path: "/etc/x", error: "invalid_path" },
    ]);
    expect(await backend.downloadFiles?.(["missing", "src"])).toMatchObject([
      { content: null, error: "file_not_found" },
      { content: null, error: "is_directory" },
    ]);
    expect((await backend.read("missing")).error).toMatch(/^file_missing: [\s\S]*next: check the path/);
    expect(await backend.delete?.("src")).toMatchObject({ path: "src" });
  });

  test("a sandbox of OpenAI Agents is a session of the service, which ends with it", async () => {
    const sandbox = await sandboxClient(codecell).create();
    expect(await sandbox.execCommand({ cmd: "echo here" })).toMatch(/exited with code 0\nOutput:\nhere\n$/);
    const before = service.manager.aliveIds().length;
    await sandbox.close();
    expect(service.manager.aliveIds().length).toBe(before - 1);
  });

  test("a failure of the service tells the model what to do", async () => {
    const closed = await codecell.session();
    await closed.close({ forget: true });
    await expect(aiTool(closed).execute({ code: "1" }, {})).rejects.toThrow(
      /^session_\w+: [\s\S]*\nnext: tell the user/,
    );
    expect((await sessionBackend(closed).execute("ls")).output).toMatch(/^codecell: session_\w+: [\s\S]*tell the user/);
  });
});
