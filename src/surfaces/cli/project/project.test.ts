import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { type FakeOptions, FakeRunner } from "../../../../test/fakes/fake-runner.ts";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { main } from "../main.ts";

const cwd = mkdtempSync(join(tmpdir(), "codecell-project-"));
chmodSync(cwd, 0o755);
mkdirSync(join(cwd, "src"));
writeFileSync(join(cwd, "src", "main.py"), "1");
afterAll(() => rmSync(cwd, { recursive: true }));

async function run(argv: string[], fake: FakeOptions) {
  const terminal = new FakeTerminal({ cwd });
  const runner = new FakeRunner(fake);
  const code = await main(["run", ...argv], { terminal, runners: () => [runner] });
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text, runner };
}

test("run --project mounts the directory read-only, and tells the kernel where the script is in it", async () => {
  const program: FakeOptions["program"] = (cell) => {
    cell.print("stdout", JSON.stringify(cell.program));
    return {};
  };
  const { stdout, runner } = await run(["src/main.py", "--project", "."], { name: "process", program });
  expect(JSON.parse(stdout)).toEqual({ file: "main.py", directory: "/project", path: ["/project/src", "/project"] });
  expect(runner.started[0]?.policy.fs.mounts).toEqual([{ source: cwd, target: "/project", mode: "ro" }]);
});

test("a machine with no runner that mounts directories is told about copies in wasm", async () => {
  const refused = [
    { rule: "fs.mounts", value: "1", reason: "the wasm runner cannot mount host directories", hint: "" },
  ];
  const { code, stderr } = await run(["src/main.py", "--project", "."], { refused });
  expect(code).toBe(3);
  expect(stderr).toContain("hint: add --runner wasm, which copies the files of --project into memory");
});
