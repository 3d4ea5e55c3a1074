import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { TestService } from "../support/http-service.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(skipsProcess)("rlm_load over /mcp", () => {
  let shared: string;
  let service: TestService;
  let mcp: Client;
  beforeAll(async () => {
    shared = await mkdtemp(join(tmpdir(), "codecell-shared-"));
    service = await TestService.open({ runners: [processRunner()], policy: { fs: { load: [shared] } } });
    // Relative paths start in the service's own directory. The link leads into what the policy allows.
    await symlink(shared, join(service.stateDir, "data"));
    await mkdir(join(shared, "directory"));
    for (const [name, text] of Object.entries({ "a.json": '{"k": 1}', "bad.json": "{", ".env": "KEY=1" })) {
      await writeFile(join(shared, name), text);
    }
    await writeFile(join(service.stateDir, "private"), "secret");
    const { headers, url } = await service.client("guest");
    mcp = new Client({ name: "test", version: "1" });
    await mcp.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  });
  afterAll(async () => {
    await mcp?.close();
    await service?.[Symbol.asyncDispose]();
    await rm(shared, { recursive: true, force: true });
  });

  const load = (path: string, form: string) =>
    mcp.callTool({ name: "rlm_load", arguments: { path, var_name: "value", form } });

  test("loads what fs.load allows, and names no directory of the service", async () => {
    const answer = await load("data/a.json", "json");
    expect(answer).toMatchObject({ structuredContent: { type: "dict", keys: ["k"] } });
    expectNoDirectory(answer);
  });

  test.each([
    ["data/none", "text"],
    ["data/.env", "text"],
    ["data/directory", "text"],
    ["data/bad.json", "json"],
    ["data/a.json/x", "text"],
    ["private", "text"],
    ["tokens.json", "text"],
    ["nothing", "text"],
    ["..", "text"],
    ["../../etc/passwd", "text"],
    ["data/../private", "text"],
    ["/proc/self/cwd/x", "text"],
  ])("names no directory of the service when %s is refused", async (path, form) => {
    const answer = await load(path, form);
    expect(answer.isError).toBe(true);
    expectNoDirectory(answer);
  });

  function expectNoDirectory(answer: unknown): void {
    const text = JSON.stringify(answer);
    expect(text).not.toContain(process.cwd()); // its last name may be any word
    for (const directory of [service.stateDir, shared]) {
      expect(text).not.toContain(directory);
      expect(text).not.toContain(basename(directory));
    }
  }
});
