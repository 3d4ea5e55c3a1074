import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FakeRunner } from "../../../test/fakes/fake-runner.ts";
import { FakeTerminal } from "../../../test/fakes/fake-terminal.ts";
import { lastFile } from "../../../test/support/audit-logs.ts";
import { main } from "./main.ts";

let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(join(tmpdir(), "codecell-audit-cli-"));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

async function cli(...argv: string[]) {
  const terminal = new FakeTerminal({ cwd });
  const code = await main([...argv, "--state-dir", "state"], { terminal, runners: () => [new FakeRunner()] });
  const { stdout, stderr } = terminal;
  return { code, stdout: stdout.text + stdout.bytes.toString(), stderr: stderr.text };
}

const jsonLines = (text: string) =>
  text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
const auditDir = () => join(cwd, "state", "audit");

test("the audit records a run with the changes from flags, and audit tail shows it", async () => {
  expect((await cli("run", "-c", "print(1)", "--timeout", "5s")).code).toBe(0);
  const { stdout } = await cli("audit", "tail", "--json");
  const events = jsonLines(stdout);
  const types = ["audit.opened", "override.applied", "session.opened", "run.started", "run.ended", "session.closed"];
  expect(events.map(({ type }) => type)).toEqual([...types, "audit.closed"]);
  expect(events[1]).toMatchObject({
    by: "flags",
    changes: [{ rule: "proc.timeout", from: "30s", to: "5s", direction: "narrower" }],
  });
  const shown = await cli("audit", "tail", "-n", "3");
  expect(shown.stdout.split("\n")).toHaveLength(4);
  expect(shown.stdout).toMatch(/run\.ended s-\w+#1 status=ok state=kept/);
});

test("audit show prints a session's events with their code, and one line for a hostile name", async () => {
  await cli("run", "-c", "a = 1\nprint('\u001b]52;c;eA==\u0007')");
  const [{ session }] = jsonLines((await cli("audit", "tail", "--json", "--type", "session.opened")).stdout);
  const { code, stdout } = await cli("audit", "show", session, "--run", "1");
  expect(code).toBe(0);
  expect(stdout).toContain("  code:\n    a = 1\n    print('^[]52;c;eA==^G')\n");
  expect(stdout).not.toContain("\u001b");
  expect(await cli("audit", "show", "nobody")).toMatchObject({ code: 1, stderr: expect.stringContaining("nobody") });
});

test("audit verify accepts an intact audit, and names the file and line of a change", async () => {
  await cli("run", "-c", "x");
  expect(await cli("audit", "verify")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^c-\w+: sound, 6 lines in 1 file.*\nthe audit is intact\n$/),
  });
  const file = await lastFile(auditDir());
  await writeFile(file, (await readFile(file, "utf8")).replace('"code":"x"', '"code":"y"'));
  const changed = await cli("audit", "verify");
  expect(changed.code).toBe(1);
  expect(changed.stdout).toMatch(/problem: c-\w+\/00000001\.jsonl:3 was changed: its hash does not match its content/);
  const { code, stdout } = await cli("audit", "verify", "--json");
  expect({ code, ...JSON.parse(stdout) }).toMatchObject({
    code: 1,
    sound: false,
    problems: [{ file: "00000001.jsonl", line: 3 }],
  });
});

test("audit verify with a head that was stored elsewhere detects a rewritten audit", async () => {
  await cli("run", "-c", "x");
  const { stdout } = await cli("audit", "head");
  expect(stdout).toMatch(/^c-[0-9a-f]{16}:6:[0-9a-f]{64}\n$/);
  await writeFile(join(cwd, "heads.txt"), stdout);
  expect((await cli("audit", "verify", "--heads", "heads.txt")).code).toBe(0);
  expect((await cli("audit", "verify", "--head", stdout.trim())).code).toBe(0);
  await rm(auditDir(), { recursive: true });
  await cli("run", "-c", "y");
  expect((await cli("audit", "verify")).code).toBe(0);
  const found = await cli("audit", "verify", "--heads", "heads.txt");
  expect(found).toMatchObject({ code: 1, stdout: expect.stringContaining("is missing") });
});

test("audit export writes filtered events as JSON lines and CSV", async () => {
  await cli("run", "-c", "x");
  const all = jsonLines((await cli("audit", "export")).stdout);
  expect(all).toHaveLength(6);
  expect(await cli("audit", "export", "--type", "run", "-o", "runs.jsonl")).toMatchObject({
    code: 0,
    stdout: "wrote 2 events to runs.jsonl\n",
  });
  expect(jsonLines(await readFile(join(cwd, "runs.jsonl"), "utf8"))).toHaveLength(2);
  const csv = (await cli("audit", "export", "--format", "csv", "--type", "run.ended")).stdout;
  expect(csv.split("\r\n")).toHaveLength(3);
  expect((await cli("audit", "export", "--since", "2h", "--until", "1h")).stdout).toBe("");
});

test("audit filters select events by outcome and by UTC times in any time zone", async () => {
  await cli("run", "-c", "x");
  expect(jsonLines((await cli("audit", "tail", "--json", "--outcome", "ok")).stdout)).toMatchObject([
    { type: "run.ended", status: "ok" },
  ]);
  expect((await cli("audit", "tail", "--json", "--outcome", "error", "--outcome", "failed")).stdout).toBe("");
  const zone = process.env.TZ;
  process.env.TZ = "Asia/Tokyo";
  try {
    const minute = 60_000;
    const at = (ms: number) => new Date(Date.now() + ms).toISOString().slice(0, 16);
    const count = async (...argv: string[]) =>
      jsonLines((await cli("audit", "export", ...argv, "--type", "run.ended")).stdout || "[]").flat().length;
    expect(await count("--since", at(-minute), "--until", at(minute))).toBe(1);
    expect(await count("--since", `${at(-minute + 9 * 60 * minute)}+09:00`)).toBe(1);
    expect(await count("--since", at(minute))).toBe(0);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

test("a policy with the audit turned off writes no audit", async () => {
  await writeFile(join(cwd, "sandbox.policy.yaml"), "audit: { enabled: false }\n");
  expect((await cli("run", "-c", "x")).code).toBe(0);
  expect((await cli("audit", "tail")).stdout).toBe("no events\n");
  const { code, stdout } = await cli("audit", "verify");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "nothing to verify: there is no audit\n" });
});

test("an audit that cannot be written fails a run only if it is durable", async () => {
  await writeFile(join(cwd, "state"), "a file");
  const lax = await cli("run", "-c", "x");
  expect(lax.code).toBe(0);
  expect(lax.stderr).toContain("codecell: the audit log cannot be written: ");
  await writeFile(join(cwd, "sandbox.policy.yaml"), "audit: { durable: true }\n");
  const strict = await cli("run", "-c", "x");
  expect(strict.code).toBe(74);
  expect(strict.stderr).toContain("hint: move that file, or choose another directory");
});

test.each([["."], ["./state"], ["./state/audit/x"], ["./link"]])(
  "a workspace %s that contains the audit is refused",
  async (workspace) => {
    await mkdir(join(cwd, "state", "audit", "x"), { recursive: true });
    await symlink("state", join(cwd, "link"));
    await writeFile(join(cwd, "sandbox.policy.yaml"), "");
    expect(await cli("run", "-c", "x", "--workspace", workspace)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("the program could rewrite the audit"),
    });
  },
);

test.each([
  [["tail", "--since", "yesterday"], "neither a duration nor a date"],
  [["tail", "--since", "2026-01-31 noon"], "neither a duration nor a date"],
  [["tail", "--type", "run.end"], "did you mean run.ended?"],
  [["tail", "--outcome", "timout"], "did you mean timeout?"],
  [["verify", "--head", "x"], "is not a valid head"],
  [["export", "--format", "xml"], "unknown format"],
  [["export", "--json"], "add --output FILE"],
  [["show"], "needs SESSION"],
])("audit with the arguments %j is a usage error", async (argv, message) => {
  const { code, stdout, stderr } = await cli("audit", ...argv);
  expect({ code, output: stdout + stderr }).toEqual({ code: 2, output: expect.stringContaining(message) });
});
