import { cp, symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launcher, root } from "../e2e/codecell-process.ts";
import { type ClaudeHome, claude, converse, newClaudeHome, textOf } from "./claude-code.ts";
import { lacking } from "./lacking.ts";

/** Claude Code puts the plugin's name before the server's. */
const tool = "mcp__plugin_codecell_codecell__run_python";

describe.skipIf(await lacking("claude", "process runner"))("the Claude Code plugin", () => {
  let home: ClaudeHome;
  beforeAll(async () => {
    home = await newClaudeHome();
    await putOnPath(home);
  });
  afterAll(() => home[Symbol.asyncDispose]());

  test("has a manifest and a marketplace that Claude Code validates without warnings", async () => {
    for (const path of [root, join(root, ".claude-plugin", "plugin.json")]) {
      const { code, stdout, stderr } = await claude(home, "plugin", "validate", "--strict", path);
      expect(`${code} ${stdout}${stderr}`).toMatch(/^0 /);
    }
  });

  test("offers its tools and its skill in a Claude Code session", async () => {
    const code = "print(6 * 7)";
    const { seen, offered, briefing } = await converse(
      home,
      [
        () => [
          { name: tool, input: { code } },
          { name: "Skill", input: { skill: "codecell:sandbox" } },
        ],
      ],
      ["--plugin-dir", root, "--allowedTools", "mcp__plugin_codecell_codecell", "Skill"],
    );
    expect(offered).toContain(tool);
    expect(briefing).toContain("codecell:sandbox");
    expect(textOf(seen[0])).toMatch(/^status: ok · \d+ ms\n\[stdout\]\n42$/);
    expect(seen[1]?.isError).toBe(false);
  });

  test("can be installed from the marketplace in this repository, and uninstalled", async () => {
    const repository = join(home.top, "repository"); // only the needed files: installing copies the whole repository
    for (const part of [".claude-plugin", "skills", "README.md"]) {
      await cp(join(root, part), join(repository, part), { recursive: true });
    }
    expect(await claude(home, "plugin", "marketplace", "add", repository)).toMatchObject({ code: 0 });
    expect(await claude(home, "plugin", "install", "codecell@codecell")).toMatchObject({ code: 0 });
    const args = ["--allowedTools", "mcp__plugin_codecell_codecell"];
    const { seen } = await converse(home, [() => [{ name: tool, input: { code: "1 + 1" } }]], args);
    expect(textOf(seen[0])).toMatch(/^status: ok · \d+ ms\n\[value\]\n2$/);
    expect(await claude(home, "plugin", "uninstall", "codecell@codecell")).toMatchObject({ code: 0 });
    expect(await claude(home, "plugin", "marketplace", "remove", "codecell")).toMatchObject({ code: 0 });
  });
});

/** The plugin starts `codecell` from the PATH, as `npm install -g .` puts it there. */
async function putOnPath({ top }: ClaudeHome): Promise<void> {
  await symlink(launcher, join(top, "bin", "codecell"));
}
