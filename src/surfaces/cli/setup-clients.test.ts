import { execFileSync } from "node:child_process";
import { chmod, chown, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeTerminal } from "../../../test/fakes/fake-terminal.ts";
import { main } from "./main.ts";
import { claudeDesktop, codex, cursor, vscode } from "./setup/mcp-clients.ts";

let home: string;
let cwd: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "codecell-clients-"));
  cwd = join(home, "project");
  await mkdir(cwd);
});
afterEach(() => rm(home, { recursive: true, force: true }));

async function setup(line: string) {
  const terminal = new FakeTerminal({ cwd, env: { HOME: home, PATH: "/usr/bin:/bin" } });
  const code = await main(["setup", ...line.split(" ")], { terminal, runners: () => [] });
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
}

const places = () => ({ platform: process.platform, env: {}, home, cwd });
const files = {
  cursor: () => cursor.file("project", places()),
  vscode: () => vscode.file("project", places()),
  "claude-desktop": () => claudeDesktop.file("user", places()),
  codex: () => codex.file("user", places()),
};
const names = Object.keys(files) as (keyof typeof files)[];

const root = process.getuid?.() === 0;

async function put(file: string, text: string, mode = 0o640): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  await chmod(file, mode);
}

test("each client is given the server in its own file and form", async () => {
  for (const name of names) expect((await setup(name)).code).toBe(0);
  const server = { command: process.execPath, args: [expect.stringContaining("codecell.js"), "mcp"] };
  const json = async (file: string) => JSON.parse(await readFile(file, "utf8"));
  expect(await json(join(cwd, ".cursor", "mcp.json"))).toEqual({ mcpServers: { codecell: server } });
  expect(await json(join(cwd, ".vscode", "mcp.json"))).toEqual({ servers: { codecell: { type: "stdio", ...server } } });
  expect(await json(files["claude-desktop"]())).toEqual({ mcpServers: { codecell: server } });
  expect(await readFile(join(home, ".codex", "config.toml"), "utf8")).toMatch(
    /^\[mcp_servers\.codecell\]\ncommand = ".*node.*"\nargs = \[".*codecell\.js", "mcp"\]\n$/,
  );
  expect((await stat(files.codex())).mode & 0o777).toBe(0o600);
  expect((await stat(files.cursor())).mode & 0o777).toBe(0o644);
});

test.each(names)("setup %s twice changes nothing the second time, and --remove restores the file", async (name) => {
  const file = files[name]();
  const before = name === "codex" ? '# mine\nmodel = "x"\n' : '{\n    "mine": [1,2],\n    "other": {"a":1}\n}\n';
  await put(file, before);
  expect((await setup(name)).stdout).toContain(`wrote ${file}`);
  const once = await readFile(file, "utf8");
  expect(once.startsWith(before.replace(/\n}\n$/, ""))).toBe(true);
  expect((await setup(name)).stdout).toContain("nothing to do");
  expect(await readFile(file, "utf8")).toBe(once);
  expect((await stat(file)).mode & 0o777).toBe(0o640);
  expect((await setup(`${name} --remove`)).code).toBe(0);
  const after = await readFile(file, "utf8");
  if (name === "codex") expect(after).toBe(before);
  else expect(JSON.parse(after)).toMatchObject(JSON.parse(before));
  expect((await setup(`${name} --uninstall`)).stdout).toContain("does not have the server");
});

test.each(names)("setup %s --print and --dry-run show the file and write nothing", async (name) => {
  for (const flag of ["--print", "--dry-run"]) expect((await setup(`${name} ${flag}`)).stdout).toContain("would write");
  const { steps } = JSON.parse((await setup(`${name} --print --json`)).stdout);
  expect(steps).toMatchObject([{ step: "would write", file: files[name]() }]);
  await expect(stat(dirname(files[name]()))).rejects.toMatchObject({ code: "ENOENT" });
});

test.each([
  ["cursor", '{ "mcpServers": { "a": 1 }'],
  ["vscode", '{ "servers": [] }'],
  ["claude-desktop", '{\n  // a comment, which Claude Desktop cannot read\n  "mcpServers": {}\n}'],
  ["codex", "[mcp_servers\n"],
  ["codex", 'mcp_servers = { codecell = { command = "x" } }\n'],
] as const)("setup %s leaves a file with the content %j alone, and says why", async (name, text) => {
  await put(files[name](), text);
  for (const flag of ["", " --remove", " --print"]) {
    const { code, stderr } = await setup(`${name}${flag}`);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining("was not changed: ") });
    expect(stderr).toContain("hint: ");
  }
  expect(await readFile(files[name](), "utf8")).toBe(text);
});

test("a file that is not UTF-8 or is a directory is left alone", async () => {
  await mkdir(join(cwd, ".cursor"));
  await writeFile(files.cursor(), Buffer.from([0x7b, 0xff, 0x7d]));
  expect(await setup("cursor")).toMatchObject({ code: 2, stderr: expect.stringContaining("it is not UTF-8") });
  expect(await readFile(files.cursor())).toEqual(Buffer.from([0x7b, 0xff, 0x7d]));
  await mkdir(files.vscode(), { recursive: true });
  expect(await setup("vscode")).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a regular file") });
});

test("fields that the user added to the entry are kept, and comments in it too", async () => {
  const text =
    '{\n  "servers": {\n    "codecell": {\n      "command": "old", // mine\n      "env": { "A": "b" }\n    }\n  }\n}\n';
  await put(files.vscode(), text);
  await setup("vscode");
  const after = await readFile(files.vscode(), "utf8");
  expect(after).toContain(", // mine\n");
  expect(after).toContain('"env": { "A": "b" }');
  expect(after).toContain(`"command": ${JSON.stringify(process.execPath)}`);
});

test("only the lines that change are shown, not the keys of other servers", async () => {
  await put(files.codex(), '[mcp_servers.mine.env]\nKEY = "secret"\n');
  const { stdout } = await setup("codex");
  expect(stdout).toContain("+ [mcp_servers.codecell]\n+ command = ");
  expect(stdout).not.toContain("secret");
  const removal = await setup("codex --remove --json");
  expect(JSON.parse(removal.stdout).steps[0].content).toContain("- [mcp_servers.codecell]\n");
  expect(removal.stdout).not.toContain("secret");
});

test("a link to a file elsewhere stays a link", async () => {
  const real = join(home, "dotfiles.json");
  await writeFile(real, "{}");
  await mkdir(join(cwd, ".cursor"));
  await symlink(real, files.cursor());
  await setup("cursor");
  expect(await readFile(real, "utf8")).toContain("codecell");
});

test("--scope chooses between the project and the user, where the client has both", async () => {
  expect((await setup("cursor --scope user --print")).stdout).toContain(
    `would write ${join(home, ".cursor", "mcp.json")}`,
  );
  expect((await setup("codex --scope project --print")).stdout).toContain(join(cwd, ".codex", "config.toml"));
  expect(await setup("claude-desktop --scope project")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no scope"),
  });
  expect(await setup("cursor --scope local")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("project, user"),
  });
});

test("the policy and the tools of the server are part of its command, and an invalid policy is refused", async () => {
  await writeFile(join(cwd, "p.yaml"), "proc: { timeout: 5s }");
  const { stdout } = await setup("codex --policy p.yaml --tools interpreter --print");
  expect(stdout).toContain(`"mcp", "--tools", "interpreter", "--policy", ${JSON.stringify(join(cwd, "p.yaml"))}]`);
  expect(await setup("codex --policy none.yaml")).toMatchObject({ code: 2 });
});

test("each system keeps the files of a user elsewhere", () => {
  const at = (platform: NodeJS.Platform, env = {}) => ({ platform, env, home: "/h", cwd: "/p" });
  expect(claudeDesktop.file("user", at("darwin"))).toBe(
    "/h/Library/Application Support/Claude/claude_desktop_config.json",
  );
  expect(claudeDesktop.file("user", at("linux"))).toBe("/h/.config/Claude/claude_desktop_config.json");
  expect(vscode.file("user", at("linux", { XDG_CONFIG_HOME: "/c" }))).toBe("/c/Code/User/mcp.json");
  expect(vscode.file("user", at("win32", { APPDATA: "/a" }))).toBe("/a/Code/User/mcp.json");
  expect(codex.file("user", at("linux", { CODEX_HOME: "/x" }))).toBe("/x/config.toml");
});

test("a link to a device, a pipe, or a link that leads nowhere is left alone, and nothing waits for it", async () => {
  await mkdir(join(cwd, ".cursor"));
  await symlink("/dev/zero", files.cursor());
  expect(await setup("cursor")).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a regular file") });
  await mkdir(join(cwd, ".vscode"));
  execFileSync("mkfifo", [files.vscode()]);
  expect(await setup("vscode")).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a regular file") });
  await rm(files.cursor());
  await symlink(join(cwd, "gone"), files.cursor());
  expect(await setup("cursor")).toMatchObject({ code: 2, stderr: expect.stringContaining("leads nowhere") });
});

test.each([
  ["cursor", '{"mcpServers":{"gh":{"command":"uvx","env":{"TOKEN":"ghp_secret"}}}} // ghp_secret'],
  ["vscode", '{"servers":{"codecell":{"command":"old","env":{"TOKEN":"ghp_secret"}},"b":["ghp_secret"]}}'],
  ["codex", '[mcp_servers.codecell]\nenv = { TOKEN = "ghp_secret" }\nurl = "https://ghp_secret" # ghp_secret\n'],
] as const)("what setup %s reports shows no value of another server, of env or of a comment", async (name, text) => {
  await put(files[name](), text);
  for (const flags of [" --print", " --print --json", "", " --remove"]) {
    const { code, stdout } = await setup(`${name}${flags}`);
    expect([code, stdout]).toEqual([0, expect.not.stringContaining("ghp_secret")]);
    expect(stdout).toContain("codecell");
  }
  if (name !== "codex") expect(await readFile(files[name](), "utf8")).toContain("ghp_secret");
});

test.skipIf(!root)("a file of another user stays theirs when root changes it", async () => {
  await put(files.cursor(), "{}", 0o600);
  await chown(files.cursor(), 65534, 65534);
  expect((await setup("cursor")).code).toBe(0);
  const { uid, gid, mode } = await stat(files.cursor());
  expect([uid, gid, mode & 0o777]).toEqual([65534, 65534, 0o600]);
});
