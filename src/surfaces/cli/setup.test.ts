import { chmod, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeTerminal } from "../../../test/fakes/fake-terminal.ts";
import { setupClaudeCodeCommand } from "./commands/setup-claude-code.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-setup-"));
});
afterEach(() => rm(cwd, { recursive: true }));

async function setup(...argv: string[]): Promise<string> {
  const terminal = new FakeTerminal({ cwd, env: { PATH: `${cwd}:/usr/bin:/bin` } });
  expect(await setupClaudeCodeCommand.run(argv, { terminal, runners: () => [] })).toBe(0);
  return terminal.stdout.text;
}

/** How this codecell is started: the tests run from the source, whose launcher is in `bin`. */
const launcher = fileURLToPath(new URL("../../../bin/codecell.js", import.meta.url));
const started = `${process.execPath} ${launcher} mcp`;

const file = () => readFile(join(cwd, ".mcp.json"), "utf8");

test("setup writes the entry in .mcp.json once, and --uninstall removes it", async () => {
  expect(await setup("--scope", "project")).toContain(launcher);
  const first = await file();
  expect(JSON.parse(first)).toEqual({
    mcpServers: { codecell: { command: process.execPath, args: [launcher, "mcp"] } },
  });
  expect((await stat(join(cwd, ".mcp.json"))).mode & 0o777).toBe(0o644);
  expect(await setup("--scope", "project")).toContain("nothing to do");
  expect(await file()).toBe(first);
  await setup("--scope", "project", "--uninstall");
  expect(JSON.parse(await file())).toEqual({ mcpServers: {} });
});

test("setup names `codecell` in a shared file only if that is this installation on PATH", async () => {
  expect(await setup("--scope", "project", "--print")).toContain("paths of this machine");
  await writeFile(join(cwd, "codecell"), "#!/bin/sh\n", { mode: 0o755 }); // another program of that name
  expect(await setup("--scope", "project", "--print")).toContain(launcher);
  await rm(join(cwd, "codecell"));
  await symlink(launcher, join(cwd, "codecell"));
  expect(await setup("--scope", "project")).toContain("needs `codecell` on PATH");
  expect(JSON.parse(await file())).toEqual({ mcpServers: { codecell: { command: "codecell", args: ["mcp"] } } });
  expect(await setup("--print")).toContain(started); // nobody else reads that one
});

test("setup --print shows the steps and changes nothing", async () => {
  expect(await setup("--scope", "project", "--print", "--tools", "rlm")).toContain('"rlm"');
  await expect(stat(join(cwd, ".mcp.json"))).rejects.toMatchObject({ code: "ENOENT" });
  expect(await setup("--print")).toBe(`would run: claude mcp add --scope local codecell -- ${started}\n`);
});

test("setup --json prints every step, done or not", async () => {
  const shown = JSON.parse(await setup("--scope", "project", "--print", "--json"));
  expect(shown).toMatchObject({ ok: true, steps: [{ step: "would write", file: join(cwd, ".mcp.json") }] });
  const done = JSON.parse(await setup("--scope", "project", "--json"));
  expect(done.steps).toEqual([
    { step: "wrote", file: join(cwd, ".mcp.json"), content: await file(), advice: expect.stringContaining("trust") },
  ]);
  expect(JSON.parse(await setup("--scope", "project", "--json")).steps).toMatchObject([{ step: "unchanged" }]);
  const command = `claude mcp add --scope user codecell -- ${started}`;
  expect(JSON.parse(await setup("--scope", "user", "--json"))).toEqual({
    ok: true,
    steps: [{ step: "not installed", command }],
  });
});

test("setup refuses a policy that is missing or invalid", async () => {
  await expect(setup("--scope", "project", "--policy", "none.yaml")).rejects.toMatchObject({ code: "usage" });
  await writeFile(join(cwd, "typo.yaml"), "proc: { memry: 1GiB }");
  await expect(setup("--scope", "project", "--policy", "typo.yaml")).rejects.toMatchObject({ code: "policy_invalid" });
  await expect(stat(join(cwd, ".mcp.json"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("setup prints the command if Claude Code is not installed", async () => {
  expect(await setup("--scope", "user")).toContain(`claude mcp add --scope user codecell -- ${started}`);
});

/** A fake `claude` command with at most one server and the output of the real one. It records its arguments in `calls`. */
async function fakeClaude(): Promise<void> {
  const claude = join(cwd, "claude");
  await writeFile(
    claude,
    `#!/bin/sh
echo "$@" >> "${cwd}/calls"
added="${cwd}/added"
case "$2" in
  get) cat "$added" ;;
  add) test -e "$added" && { echo "MCP server codecell already exists in $4 config"; exit 1; }
    scope=$4; shift 6; printf '  Scope: %s config\\n  Command: %s\\n' "$scope" "$1" > "$added"; shift
    echo "  Args: $*" >> "$added" ;;
  remove) rm "$added" 2>/dev/null || { echo 'No MCP server named "codecell"'; exit 1; } ;;
esac`,
  );
  await chmod(claude, 0o755);
}

const changes = async () =>
  (await readFile(join(cwd, "calls"), "utf8"))
    .trim()
    .split("\n")
    .filter((line) => !line.startsWith("mcp get"));

test("setup adds and removes the server once with the claude command", async () => {
  await fakeClaude();
  await setup("--scope", "user");
  const added = await readFile(join(cwd, "added"), "utf8");
  expect(await setup("--scope", "user")).toContain("nothing to do");
  expect(await readFile(join(cwd, "added"), "utf8")).toBe(added);
  await setup("--scope", "user", "--uninstall");
  await expect(stat(join(cwd, "added"))).rejects.toMatchObject({ code: "ENOENT" });
  expect(await setup("--scope", "user", "--uninstall")).toContain("nothing to do");
});

test("setup replaces a server with another command", async () => {
  await fakeClaude();
  await setup();
  await setup("--tools", "rlm");
  expect((await changes()).slice(-2)).toEqual([
    "mcp remove --scope local codecell",
    `mcp add --scope local codecell -- ${started} --tools rlm`,
  ]);
});

test("setup rejects an unknown scope", async () => {
  const terminal = new FakeTerminal({ cwd });
  const run = setupClaudeCodeCommand.run(["--scope", "world"], { terminal, runners: () => [] });
  await expect(run).rejects.toMatchObject({ code: "usage" });
});
