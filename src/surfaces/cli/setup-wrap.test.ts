import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeTerminal } from "../../../test/fakes/fake-terminal.ts";
import { plainWasm } from "../../../test/support/plain-wasm.ts";
import { setupClaudeCodeCommand } from "./commands/setup-claude-code.ts";
import { srtVersion } from "./setup/find-srt.ts";

let top: string;
let project: string;
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "codecell-wrap-"));
  project = join(top, "project");
  for (const name of ["bin", "project", "srt"]) await mkdir(join(top, name));
  for (const name of ["bwrap", "socat", "rg"]) await program(name, "");
  // stores the added server, and prints it as the real `claude` does
  await program(
    "claude",
    `#!/bin/sh
shift; verb=$1; shift
case "$verb" in
  get) cat "${top}/added" 2>/dev/null ;;
  add) [ -e "${top}/added" ] && { echo "MCP server codecell already exists"; exit 1; }
    shift 4; command=$1; shift; printf 'codecell:\\n  Command: %s\\n  Args: %s\\n' "$command" "$*" > "${top}/added"; echo add >> "${top}/calls" ;;
  remove) rm "${top}/added" 2>/dev/null || { echo "No MCP server named codecell"; exit 1; }
    echo remove >> "${top}/calls" ;;
esac`,
  );
});
afterEach(() => rm(top, { recursive: true }));

async function program(name: string, text: string): Promise<void> {
  await writeFile(join(top, "bin", name), text);
  await chmod(join(top, "bin", name), 0o755);
}

async function installSrt(): Promise<void> {
  await writeFile(
    join(top, "srt/package.json"),
    JSON.stringify({ name: "@anthropic-ai/sandbox-runtime", version: srtVersion }),
  );
  await writeFile(join(top, "srt/cli.js"), "");
  await chmod(join(top, "srt/cli.js"), 0o755);
  await symlink("../srt/cli.js", join(top, "bin/srt"));
}

async function setup(...argv: string[]): Promise<FakeTerminal> {
  return setupIn(project, ...argv);
}

async function setupIn(cwd: string, ...argv: string[]): Promise<FakeTerminal> {
  const env = { PATH: `${top}/bin:/usr/bin:/bin`, XDG_STATE_HOME: join(top, "state"), HOME: top, MY_KEY: "secret" };
  const terminal = new FakeTerminal({ cwd, env });
  const runners = plainWasm;
  expect(await setupClaudeCodeCommand.run(argv, { terminal, runners })).toBe(0);
  return terminal;
}

const settingsDir = () => join(top, "state/codecell/srt");
const settingsFile = async () =>
  join(settingsDir(), (await readdir(settingsDir())).find((name) => name.endsWith(".json")) ?? "none");
const calls = async () => (await readFile(join(top, "calls"), "utf8")).trim().split("\n");

test("setup --wrap registers the server inside srt, with settings that only this user can read", async () => {
  await installSrt();
  await writeFile(join(project, "sandbox.policy.yaml"), "proc: { timeout: 5s }\n");
  const terminal = await setup("--wrap", "srt", "--tools", "rlm");
  const file = await settingsFile();
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const added = await readFile(join(top, "added"), "utf8");
  expect(added).toContain("Command: /usr/bin/env\n");
  expect(added).toContain(`srt/cli.js --settings ${file} -- ${process.execPath}`);
  expect(added).toContain(`codecell/run --policy ${join(project, "sandbox.policy.yaml")}`);
  expect(added).toMatch(/mcp --tools rlm --runtime-dir /);
  expect(added).toMatch(/Args: -i PATH=/);
  expect(added).not.toContain("secret");
  expect(terminal.stderr.text).toContain("note: isolation.minimum");
});

test("setup --wrap lets the server write only to its own state directory, which does not contain its settings", async () => {
  await installSrt();
  await setup("--wrap", "srt");
  const { filesystem } = JSON.parse(await readFile(await settingsFile(), "utf8"));
  const [writable] = filesystem.allowWrite;
  expect(filesystem.allowWrite).toHaveLength(1);
  expect(writable.path).toMatch(/state\/codecell\/srt\/local-[0-9a-f]{12}\/codecell$/);
  expect((await settingsFile()).startsWith(writable.path)).toBe(false);
  expect((await stat(writable.path)).isDirectory()).toBe(true);
});

test("setup --wrap changes nothing the second time", async () => {
  await installSrt();
  await setup("--wrap", "srt");
  const before = await stat(await settingsFile());
  const again = await setup("--wrap", "srt");
  expect(again.stdout.text).toMatch(/is up to date\n.*nothing to do/);
  expect((await stat(await settingsFile())).ino).toBe(before.ino);
  expect(await calls()).toEqual(["add"]);
});

test("setup replaces a plain server with a wrapped one, and a wrapped one with a plain one", async () => {
  await installSrt();
  await setup();
  await setup("--wrap", "srt");
  expect(await readFile(join(top, "added"), "utf8")).toContain("--settings");
  await setup();
  expect(await readFile(join(top, "added"), "utf8")).toMatch(/Args: \S+\/bin\/codecell\.js mcp\n/);
  expect(await calls()).toEqual(["add", "remove", "add", "remove", "add"]);
});

test("setup --wrap --print shows the settings and the command, and writes nothing", async () => {
  await installSrt();
  const { stdout } = await setup("--wrap", "srt", "--print");
  expect(stdout.text).toContain('"denyRead"');
  expect(stdout.text).toContain("would run: claude mcp add --scope local codecell -- /usr/bin/env -i");
  await expect(stat(join(top, "state"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("setup --uninstall also removes the srt settings", async () => {
  await installSrt();
  await setup("--wrap", "srt");
  const file = await settingsFile();
  expect((await setup("--uninstall", "--print")).stdout.text).toContain(`would remove ${file}`);
  expect((await setup("--uninstall")).stdout.text).toContain(`removed ${file}`);
  await expect(stat(file)).rejects.toMatchObject({ code: "ENOENT" });
  expect((await setup("--uninstall")).stdout.text).not.toContain("removed");
});

test("setup --wrap with --scope user opens no project", async () => {
  await installSrt();
  const { stderr } = await setup("--wrap", "srt", "--scope", "user");
  const text = await readFile(await settingsFile(), "utf8");
  expect(text).not.toContain(project);
  expect(stderr.text).toContain("rlm_load cannot read files");
});

test("setup --wrap does not open a directory that contains the server's state, which srt would make read-only", async () => {
  await installSrt();
  const { stderr } = await setupIn(top, "--wrap", "srt");
  expect(stderr.text).toContain("rlm_load cannot read files");
  expect(await readFile(await settingsFile(), "utf8")).not.toContain(`"path": "${top}"`);
  await writeFile(join(top, "sandbox.policy.yaml"), "fs: { load: [./] }\n");
  await expect(setupIn(top, "--wrap", "srt")).rejects.toMatchObject({ code: "policy_refused" });
});

test("setup --wrap hides denied files in subdirectories of the project", async () => {
  await installSrt();
  await mkdir(join(project, "app"));
  await writeFile(join(project, "app", ".env"), "KEY=1");
  await setup("--wrap", "srt");
  const { filesystem } = JSON.parse(await readFile(await settingsFile(), "utf8"));
  expect(filesystem.denyRead).toContainEqual({ path: join(project, "app/.env"), literal: true });
});

test("setup --wrap says how to install srt when it is missing", async () => {
  await expect(setup("--wrap", "srt")).rejects.toMatchObject({
    message: expect.stringContaining("not installed"),
    hint: `npm install -g @anthropic-ai/sandbox-runtime@${srtVersion}`,
  });
});

test.each([
  ["isolation: { minimum: process }", "isolation.minimum"],
  ["isolation: { runner: process }", "isolation.runner"],
  ["fs: { mounts: [{ source: ./, target: /data }] }", "fs.mounts"],
])("setup --wrap refuses a policy that no runner inside srt can enforce: %s", async (policy, rule) => {
  await installSrt();
  await writeFile(join(top, "other.yaml"), `${policy}\n`);
  await expect(setup("--wrap", "srt", "--policy", "../other.yaml")).rejects.toMatchObject({
    code: "policy_refused",
    message: expect.stringContaining(rule),
  });
});

test("setup rejects --wrap with --scope project, and an unknown --wrap", async () => {
  await expect(setup("--wrap", "srt", "--scope", "project")).rejects.toMatchObject({ code: "usage" });
  await expect(setup("--wrap", "docker")).rejects.toMatchObject({ code: "usage" });
});
