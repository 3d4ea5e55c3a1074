import { execFile, spawnSync } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { root } from "./codecell-process.ts";
import { newClient, newTestDirectories, removeTestDirectories, type TestDirectories } from "./mcp-client.ts";

const execute = promisify(execFile);
/** Python unpacks the bundle, so that a second implementation reads the format. */
const hasPython = spawnSync("python3", ["--version"]).status === 0;
let directories: TestDirectories;
let bundle: string;
let checksum: string;

/** Packs the bundle into a directory of the test's own. */
async function pack(out: string): Promise<{ path: string; sha256: string }> {
  const args = [join(root, "scripts/build-mcpb.js"), "--json", "--out", out];
  return JSON.parse((await execute(process.execPath, args)).stdout);
}

beforeAll(async () => {
  if (!hasPython) return;
  directories = await newTestDirectories();
  const { path, sha256 } = await pack(directories.top);
  checksum = sha256;
  bundle = join(directories.top, "unpacked");
  // this also checks the checksums
  await execute("python3", ["-m", "zipfile", "-e", path, bundle]);
});
afterAll(() => directories && removeTestDirectories(directories));

/** Starts the server like a desktop client that has unpacked the bundle. */
async function startedAs(manifest: { server: { mcp_config: { command: string; args: string[] } } }, more: string[]) {
  const { command, args } = manifest.server.mcp_config;
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the manifest contains it literally
  const here = args.map((text) => text.replace("${__dirname}", bundle));
  const client = newClient("legacy");
  const all = [...here, "--state-dir", directories.state, ...more];
  await client.connect(new StdioClientTransport({ command, args: all, cwd: directories.project, stderr: "inherit" }));
  return client;
}

describe.skipIf(!hasPython)("the MCPB bundle", () => {
  test.each([
    ["in the strongest available runner", []],
    ["in its own wasm interpreter", ["--runner", "wasm"]],
  ])("runs Python %s, with nothing else installed", async (_, args) => {
    const manifest = JSON.parse(await readFile(join(bundle, "manifest.json"), "utf8"));
    const client = await startedAs(manifest, args);
    try {
      expect(client.getServerVersion()).toMatchObject({ name: "codecell", version: manifest.version });
      expect((await client.listTools()).tools.map(({ name }) => name)).toContain("run_python");
      const { content } = await client.callTool({ name: "run_python", arguments: { code: "6 * 7" } });
      expect(content).toMatchObject([{ text: expect.stringMatching(/^status: ok · [\s\S]*\[value\]\n42$/) }]);
    } finally {
      await client.close();
    }
  });

  test("contains the runtime files and no development files", async () => {
    const has = (path: string) =>
      stat(join(bundle, path)).then(
        () => true,
        () => false,
      );
    expect(await has("node_modules/pyodide/pyodide.asm.wasm")).toBe(true);
    expect(await has("node_modules/vitest")).toBe(false);
    expect(await has("dist/index.d.ts")).toBe(false);
  });

  test("is byte-identical when it is packed again", async () => {
    expect((await pack(join(directories.top, "again"))).sha256).toBe(checksum);
  });
});
