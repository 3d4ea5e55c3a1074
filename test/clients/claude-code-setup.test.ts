import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { codecell, type Finished, launcher } from "../e2e/codecell-process.ts";
import { type ClaudeHome, claude, newClaudeHome } from "./claude-code.ts";
import { lacking } from "./lacking.ts";

describe.skipIf(await lacking("claude"))("codecell setup claude-code", () => {
  let home: ClaudeHome;
  beforeEach(async () => {
    home = await newClaudeHome();
  });
  afterEach(() => home[Symbol.asyncDispose]());

  const setup = (...args: string[]): Promise<Finished> =>
    codecell(["setup", "claude-code", ...args], { cwd: home.project, env: home.env });
  const known = async () => (await claude(home, "mcp", "get", "codecell")).stdout;

  test.each(["local", "user"])(
    "--scope %s adds a server that Claude Code connects to, and does nothing the second time",
    async (scope) => {
      expect(await setup("--scope", scope)).toMatchObject({ code: 0, stderr: "" });
      const shown = await known();
      expect(shown).toMatch(new RegExp(`Scope: ${scope}`, "i"));
      expect(shown).toContain("✔ Connected");
      expect(shown).toContain(`Args: ${launcher} mcp`);
      const before = await settings(home);
      expect(await setup("--scope", scope)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("nothing to do"),
      });
      expect(await settings(home)).toEqual(before);
    },
  );

  test("--uninstall removes the server, and does nothing the second time", async () => {
    await setup();
    expect(await setup("--uninstall")).toMatchObject({ code: 0 });
    expect((await claude(home, "mcp", "get", "codecell")).code).toBe(1);
    expect(await setup("--uninstall")).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing to do") });
  });

  test("replaces a server with another command, so that a requested policy takes effect", async () => {
    await setup();
    expect(await setup("--tools", "rlm")).toMatchObject({ code: 0 });
    expect(await known()).toContain(`Args: ${launcher} mcp --tools rlm`);
  });

  test("does not touch the other scope", async () => {
    await setup("--scope", "local");
    expect(await setup("--scope", "user", "--uninstall")).toMatchObject({ code: 0 });
    expect(await known()).toMatch(/Scope: local/i);
    expect(await setup("--scope", "user")).toMatchObject({ code: 0 });
    expect(await setup("--scope", "local", "--uninstall")).toMatchObject({ code: 0 });
    expect(await known()).toMatch(/Scope: user/i);
  });

  test("writes a project file that Claude Code reads", async () => {
    await setup("--scope", "project");
    expect(await known()).toMatch(/Scope: project/i);
    await setup("--scope", "project", "--uninstall");
    expect((await claude(home, "mcp", "get", "codecell")).code).toBe(1);
  });

  test("--print changes nothing", async () => {
    const before = await settings(home);
    expect(await setup("--print")).toMatchObject({ code: 0, stdout: expect.stringContaining("claude mcp add") });
    expect(await settings(home)).toEqual(before);
  });
});

/** The servers in Claude Code's settings, of every scope. */
async function settings({ env }: ClaudeHome): Promise<unknown> {
  const file = join(env.CLAUDE_CONFIG_DIR ?? "", ".claude.json");
  if (!existsSync(file)) return undefined;
  const { mcpServers, projects } = JSON.parse(await readFile(file, "utf8"));
  return { mcpServers, projects };
}
