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

  // Claude Code starts several times in each setup, so a test asks for several things on its way.
  test("adds a server that Claude Code connects to, does nothing the second time, and replaces one with another command", async () => {
    expect(await setup()).toMatchObject({ code: 0, stderr: "" });
    expectConnected(await known(), "local");
    await expectNothingToDo();
    expect(await setup("--tools", "rlm")).toMatchObject({ code: 0 }); // so that a requested policy takes effect
    expect(await registered(home)).toEqual({ local: [launcher, "mcp", "--tools", "rlm"] });
  });

  test("--scope user adds and --uninstall removes in one scope only, and each does nothing the second time", async () => {
    await setup("--scope", "local");
    expect(await setup("--scope", "user", "--uninstall")).toMatchObject({ code: 0 });
    expect(await registered(home)).toEqual({ local: [launcher, "mcp"] });
    expect(await setup("--scope", "user")).toMatchObject({ code: 0, stderr: "" });
    expect(await setup("--scope", "local", "--uninstall")).toMatchObject({ code: 0 });
    expectConnected(await known(), "user");
    await expectNothingToDo("--scope", "user");
    expect(await setup("--scope", "user", "--uninstall")).toMatchObject({ code: 0 });
    expect(await registered(home)).toEqual({});
    await expectNothingToDo("--scope", "user", "--uninstall");
  });

  function expectConnected(shown: string, scope: string): void {
    expect(shown).toMatch(new RegExp(`Scope: ${scope}`, "i"));
    expect(shown).toContain("✔ Connected");
    expect(shown).toContain(`Args: ${launcher} mcp`);
  }

  async function expectNothingToDo(...args: string[]): Promise<void> {
    const before = await settings(home);
    expect(await setup(...args)).toMatchObject({ code: 0, stdout: expect.stringContaining("nothing to do") });
    expect(await settings(home)).toEqual(before);
  }

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

interface Settings {
  readonly mcpServers?: Servers;
  readonly projects?: Readonly<Record<string, { readonly mcpServers?: Servers }>>;
}
type Servers = { readonly codecell?: { readonly args: readonly string[] } };

/** The servers in Claude Code's settings, of every scope. */
async function settings({ env }: ClaudeHome): Promise<Settings> {
  const file = join(env.CLAUDE_CONFIG_DIR ?? "", ".claude.json");
  if (!existsSync(file)) return {};
  const { mcpServers, projects } = JSON.parse(await readFile(file, "utf8"));
  return { mcpServers, projects };
}

/** How Claude Code starts the server in each scope that has it. */
async function registered(home: ClaudeHome): Promise<object> {
  const { mcpServers, projects } = await settings(home);
  return { user: mcpServers?.codecell?.args, local: projects?.[home.project]?.mcpServers?.codecell?.args };
}
