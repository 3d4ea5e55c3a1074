import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { plainWasm } from "../../../../test/support/plain-wasm.ts";
import { policyExportCommand } from "./policy-export.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-export-"));
});
afterEach(() => rm(cwd, { recursive: true }));

async function exported(...argv: string[]): Promise<FakeTerminal> {
  const terminal = new FakeTerminal({ cwd, env: { PATH: cwd, XDG_STATE_HOME: join(cwd, "state") } });
  const runners = plainWasm;
  expect(await policyExportCommand.run(["--format", "srt", ...argv], { terminal, runners })).toBe(0);
  return terminal;
}

test("policy export prints only the settings on stdout, and what they cannot enforce on stderr", async () => {
  const { stdout, stderr } = await exported();
  const { filesystem } = JSON.parse(stdout.text);
  expect(filesystem.denyRead[0]).toBe(process.platform === "linux" ? "/" : "/Users");
  expect(filesystem.allowRead).toContainEqual({ path: cwd, literal: true });
  expect(filesystem.allowWrite).toEqual([{ path: join(cwd, "state/codecell"), literal: true }]);
  expect(stderr.text).toContain("note: proc.timeout, proc.cpus");
  expect(stderr.text).toContain("env -i");
  expect(stderr.text).toContain("srt is not installed");
});

test("policy export --json has the settings, the notes and the rules that the inner runner would refuse", async () => {
  await writeFile(join(cwd, "mine.yaml"), "fs: { deps: ./ }\n");
  const { stdout, stderr } = await exported("mine.yaml", "--state-dir", "own", "--json");
  const { settings, notes } = JSON.parse(stdout.text);
  expect(settings.filesystem.allowWrite).toEqual([{ path: join(cwd, "own"), literal: true }]);
  expect(settings.filesystem.denyWrite).toEqual([{ path: join(cwd, "mine.yaml"), literal: true }]);
  expect(notes).toContainEqual({ rules: ["fs.deps"], note: expect.stringContaining("wasm runner") });
  expect(stderr.text).toBe("");
});

test("exported srt settings open codecell's own files to the server, but not its repository", async () => {
  const { allowRead } = JSON.parse((await exported()).stdout.text).filesystem;
  const open = allowRead.map(({ path }: { path: string }) => path);
  expect(open.some((path: string) => path.endsWith("/python"))).toBe(true);
  expect(open.some((path: string) => /\/(?:src|test|\.git)$/.test(path))).toBe(false);
});

test("policy export rejects a missing or unknown format", async () => {
  const terminal = new FakeTerminal({ cwd });
  for (const argv of [[], ["--format", "docker"]]) {
    await expect(policyExportCommand.run(argv, { terminal, runners: () => [] })).rejects.toMatchObject({
      code: "usage",
      hint: "use --format srt",
    });
  }
});
