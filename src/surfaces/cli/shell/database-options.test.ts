import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { FakeTerminal } from "../../../../test/fakes/fake-terminal.ts";
import { main } from "../main.ts";

let cwd: string;
beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), "cc-dbcli-"));
});
afterAll(() => rm(cwd, { recursive: true, force: true }));

async function cli(argv: readonly string[], env: Record<string, string> = {}) {
  const terminal = new FakeTerminal({ cwd, env });
  const code = await main([...argv], { terminal, runners: () => [] });
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
}

describe("--database", () => {
  test.each(["token ls", "sessions ls", "database status"])(
    "of codecell %s refuses a password, and does not repeat it",
    async (command) => {
      const url = "postgres://me:hunter2@127.0.0.1:1/x";
      const { code, stderr } = await cli([...command.split(" "), "--database", url]);
      expect(code).toBe(2);
      expect(stderr).toMatch(/contains a password[\s\S]*CODECELL_DATABASE_URL_FILE/);
      expect(stderr).not.toContain("hunter2");
    },
  );

  test("is required by `database status`, and refuses --tokens beside it", async () => {
    expect(await cli(["database", "status"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("no database"),
    });
    const both = ["--tokens", "x.json", "--database", "postgres://127.0.0.1:1/x"];
    expect((await cli(["token", "ls", ...both])).stderr).toContain("two places for the tokens");
  });

  test.each([
    ["--gateway-url", "http://10.0.0.7:7410"],
    ["--gateway-lease", "5s"],
  ])("is required by `codecell serve %s`, because gateways without a database share nothing", async (flag, value) => {
    const { code, stderr } = await cli(["serve", flag, value]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/--gateway-\w+ needs a database[\s\S]*CODECELL_DATABASE_URL_FILE/);
  });

  test("of a file that others can read is refused", async () => {
    const file = join(cwd, "open-url");
    await writeFile(file, "postgres://127.0.0.1:1/x");
    await chmod(file, 0o644);
    const result = await cli(["database", "status"], { CODECELL_DATABASE_URL_FILE: file });
    expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining("can be read by others") });
  });
});
