import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresSessionStore } from "../../../src/sessions/storage/postgres/postgres-session-store.ts";
import type { HeldSession } from "../../../src/sessions/storage/session-storage.ts";
import { openDatabase } from "../../../src/store/postgres/open-database.ts";
import { main } from "../../../src/surfaces/cli/main.ts";
import { FakeTerminal } from "../../fakes/fake-terminal.ts";
import type { PostgresServer } from "../../support/postgres.ts";

/** What a gateway stores of a session with one run, one variable and one file. */
async function saveSession(held: HeldSession): Promise<void> {
  const stored = (data: string) => held.writeBlob(pieces(data), { maxBytes: 1_000 });
  const { sha256, bytes: size } = await stored("hi");
  const list = await stored(JSON.stringify([{ path: "a.txt", size, sha256 }]));
  const files = { sha256: list.sha256, count: 1, bytes: size, skipped: [], skippedCount: 0 };
  const facts = { savedMs: 2, run: 1, python: "3.11.2", runner: "process", saved: ["x"], skipped: [], files };
  const snapshot = { ...(await held.writeSnapshot(Buffer.from("bytes"))), ...facts };
  await held.write({ version: 1, id: held.id, workspace: "w-1", createdMs: 1, usedMs: 2, runs: 1, snapshot });
  await held.appendHistory({ run: 1, atMs: 1, code: "x = 41 + 1", language: "python", status: "ok", durationMs: 1 });
}

async function* pieces(data: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(data);
}

export function commandCases(server: () => PostgresServer): void {
  let cwd: string;
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), "cc-dbcli-"));
  });
  afterAll(() => rm(cwd, { recursive: true, force: true }));

  async function cli(argv: readonly string[], env: Record<string, string> = {}) {
    const terminal = new FakeTerminal({ cwd, env });
    const code = await main([...argv], { terminal, runners: () => [] });
    const stdout = terminal.stdout.text + terminal.stdout.bytes.toString();
    return { code, stdout, stderr: terminal.stderr.text };
  }

  describe("commands with a shared database", () => {
    let url: string;
    beforeAll(async () => {
      url = await server().newDatabase();
    });

    test("`database status` says what is missing, and `database migrate` applies it once", async () => {
      const file = join(cwd, "url");
      await writeFile(file, `${url}\n`);
      await chmod(file, 0o440);
      const env = { CODECELL_DATABASE_URL_FILE: file };
      expect(await cli(["database", "status"], env)).toMatchObject({
        code: 1,
        stdout: expect.stringContaining("missing 1 sessions: run `codecell database migrate`"),
      });
      expect(await cli(["database", "migrate"], env)).toMatchObject({
        code: 0,
        stdout: expect.stringContaining("applied 1 sessions\n"),
      });
      expect(JSON.parse((await cli(["database", "migrate", "--json"], env)).stdout)).toEqual({ applied: [] });
      const { code, stdout } = await cli(["database", "status", "--json"], env);
      expect({ code, ...JSON.parse(stdout) }).toMatchObject({
        code: 0,
        up_to_date: true,
        pending: [],
        sessions: 0,
        tokens: 0,
      });
    });

    test("tokens are created, listed, rotated and removed in the database", async () => {
      const env = { CODECELL_DATABASE_URL: url };
      const made = JSON.parse((await cli(["token", "create", "alice", "--json"], env)).stdout);
      const rotated = JSON.parse((await cli(["token", "rotate", "alice", "--json", "--database", url])).stdout);
      expect(rotated).toMatchObject({ name: "alice", namespace: made.namespace });
      expect(rotated.token).not.toBe(made.token);
      expect((await cli(["token", "create", "alice"], env)).stderr).toContain("token alice already exists");
      expect(JSON.parse((await cli(["token", "ls", "--json"], env)).stdout).tokens).toHaveLength(1);
      expect(await cli(["token", "rm", "alice"], env)).toMatchObject({ code: 0 });
      expect((await cli(["token", "ls"], env)).stdout).toBe("no tokens\n");
      // those of the file are others
      expect((await cli(["token", "ls", "--state-dir", "state"])).stdout).toBe("no tokens\n");
    });

    test("`sessions ls` lists the sessions of every gateway, damaged ones too", async () => {
      const record = { version: 1, id: "work", workspace: "w", createdMs: 1, usedMs: 1, runs: 3 };
      await server().query(url, "insert into codecell.sessions (id, record) values ('work', $1), ('bad', '{}')", [
        JSON.stringify(record),
      ]);
      const { sessions } = JSON.parse((await cli(["sessions", "ls", "--json", "--database", url])).stdout);
      expect(sessions).toMatchObject([
        { session_id: "work", state: "saved", runs: 3 },
        { session_id: "bad", state: "damaged" },
      ]);
      const byEnvironment = await cli(["sessions", "ls"], { CODECELL_DATABASE_URL: url });
      expect(byEnvironment.stderr).toContain("these are the sessions of the database");
    });

    test("a session of the database is shown, exported, read and removed without a gateway", async () => {
      const id = "ns-0123456789ab.shared";
      const inDatabase = ["--database", url, "--state-dir", "state"];
      const database = await openDatabase(url);
      await using store = await PostgresSessionStore.open({ database, own: database, stateDir: join(cwd, "gateway") });
      const held = await store.lock(id);
      await saveSession(held);
      const shown = await cli(["sessions", "show", id, "--json", ...inDatabase]);
      expect(JSON.parse(shown.stdout)).toMatchObject({
        session_id: id,
        state: "live",
        saved_variables: 1,
        files: [{ name: "a.txt", size: 2 }],
      });
      expect((await cli(["artifacts", "get", id, "a.txt", ...inDatabase])).stdout).toBe("hi");
      expect((await cli(["sessions", "export", id, "--format", "py", ...inDatabase])).stdout).toContain("x = 41 + 1");
      expect((await cli(["logs", id, ...inDatabase])).stdout).toContain("x = 41 + 1");
      const busy = await cli(["sessions", "rm", id, ...inDatabase]);
      expect([busy.code, busy.stderr]).toEqual([75, expect.stringContaining("is open in another process")]);
      await held[Symbol.asyncDispose]();
      expect(await cli(["sessions", "rm", id, ...inDatabase])).toMatchObject({ code: 0, stdout: `removed ${id}\n` });
      const gone = await cli(["sessions", "show", id], { CODECELL_DATABASE_URL: url });
      expect([gone.code, gone.stderr]).toEqual([1, expect.stringContaining("in the database")]);
      expect(gone.stderr).toContain("use --state-dir for those in files");
    });

    test("--state-dir means files, also if the environment names a database", async () => {
      const env = { CODECELL_DATABASE_URL: url };
      const unknown = await cli(["sessions", "show", "work", "--state-dir", "state"], env);
      expect([unknown.code, unknown.stderr.includes("in the database")]).toEqual([1, false]);
    });
  });
}
