import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const execute = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const packer = join(import.meta.dirname, "node_modules/@anthropic-ai/mcpb/dist/cli/cli.js");

/** Whether the official `mcpb` tool is missing. The test is then skipped with the tool's name, and fails in CI. */
function isMissing(): boolean {
  if (existsSync(packer)) return false;
  if (process.env.CI) throw new Error("@anthropic-ai/mcpb is not installed");
  process.stderr.write("skipped: @anthropic-ai/mcpb not installed; npm ci --prefix test/clients --ignore-scripts\n");
  return true;
}

test.skipIf(isMissing())("the official mcpb tool validates the manifest and unpacks the bundle", async () => {
  const top = await mkdtemp(join(tmpdir(), "codecell-mcpb-"));
  try {
    const mcpb = async (...args: string[]) => (await execute(process.execPath, [packer, ...args])).stdout;
    expect(await mcpb("validate", join(root, "mcpb/manifest.json"))).toContain("passes");
    const build = [join(root, "scripts/build-mcpb.js"), "--json", "--out", top];
    const { path } = JSON.parse((await execute(process.execPath, build)).stdout);
    await mcpb("unpack", path, join(top, "unpacked"));
    expect(await mcpb("validate", join(top, "unpacked"))).toContain("passes");
    expect(existsSync(join(top, "unpacked/bin/codecell.js"))).toBe(true);
  } finally {
    await rm(top, { recursive: true, force: true });
  }
});
