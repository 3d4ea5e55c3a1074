import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import type { CodecellOptions } from "../../src/sessions/codecell-options.ts";
import { borrowedRunner } from "../../src/sessions/packages/build-cell.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { skipsProcess } from "../support/process-cells.ts";

const policy = parsePolicy({ session: { persist: true }, audit: { enabled: false } });

describe.skipIf(noPostgres !== undefined || skipsProcess)("sessions of several processes in one database", () => {
  /** One for all machines: it looks for bubblewrap and Python once. */
  const runner = processRunner({ layout: "direct" });
  let server: PostgresServer;
  let base: string;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(async () => {
    await runner[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });
  beforeEach(async () => {
    url = await server.newDatabase();
    base = await mkdtemp(join(tmpdir(), "cc-shared-"));
    await chmod(base, 0o711);
  });
  afterEach(() => rm(base, { recursive: true, force: true }));

  /** A codecell as on a machine of its own: it shares no state with the others but the database. */
  const machine = (name: string, options: Partial<CodecellOptions> = {}) =>
    Codecell.open({
      ...options,
      ...{ policy, database: url, stateDir: join(base, name), runtimeDir: join(base, `${name}-run`) },
      runners: [borrowedRunner(runner)],
    });

  test("a session that one machine closed goes on at another, with its variables and its history", async () => {
    await using one = await machine("one");
    await using two = await machine("two");
    const session = await one.session("work");
    expect(
      (await session.run("x = 41; print('hello'); open('kept.txt', 'w').write('kept')")).receipt.rules,
    ).toContainEqual(
      expect.objectContaining({ rule: "session.persist", by: "host", how: expect.stringMatching(/^PostgreSQL: /) }),
    );
    await expect(two.session("work")).rejects.toMatchObject({ code: "session_busy" });
    await one.closeSession("work");
    const again = await two.session("work");
    expect(await again.run("x + int(open('kept.txt').read() == 'kept')")).toMatchObject({
      value: "42",
      notes: expect.arrayContaining([
        expect.stringContaining("variables and files were restored from the save after run 1"),
      ]),
    });
    const [first] = await again.history({ outputs: true });
    expect(first).toMatchObject({ run: 1, outputs: { events: [{ text: "hello\n" }] } });
    await two.closeSession("work", { forget: true });
    expect(await server.query(url, "select * from codecell.sessions")).toEqual([]);
  });

  test("files in a directory of a machine stay there, and the next result elsewhere says so", async () => {
    {
      await using one = await machine("one", { filesStayInCell: false });
      await (await one.session("work")).run("x = 1");
    }
    await using two = await machine("two", { filesStayInCell: false });
    expect((await (await two.session("work")).run("x")).notes).toContain(
      "its files are on the machine that it ran on before; here its workspace is empty",
    );
  });

  test("directories of sessions in files stay, although the database does not know them, and the other way around", async () => {
    const places = { stateDir: join(base, "both"), runtimeDir: join(base, "both-run") };
    const open = (database: object) =>
      Codecell.open({
        ...{ policy, ...places, ...database, filesStayInCell: false },
        runners: [processRunner({ layout: "direct" })],
      });
    const stores = [{}, { database: url }, { database: await server.newDatabase() }];
    for (const [at, store] of stores.entries()) {
      await using codecell = await open(store);
      await (await codecell.session("work")).run(`open('kept.txt', 'w').write('store ${at}')`);
    }
    for (const [at, store] of stores.entries()) {
      await using codecell = await open(store);
      const { value } = await (await codecell.session("work")).run("open('kept.txt').read()");
      expect(value).toBe(`'store ${at}'`);
    }
  });

  test("a session of a process that was killed is taken by the next one, which says what is lost", async () => {
    const script = fileURLToPath(new URL("database-host.mjs", import.meta.url));
    const places = [join(base, "killed"), join(base, "killed-run")];
    const child = spawn(process.execPath, [script, url, ...places], { stdio: ["ignore", "pipe", "inherit"] });
    const first = await Promise.race([once(child.stdout, "data"), once(child, "exit")]);
    expect(String(first[0])).toBe("ready\n");
    await using other = await machine("other");
    await expect(other.session("work")).rejects.toMatchObject({ code: "session_busy" });
    child.kill("SIGKILL");
    await once(child, "exit");
    // The server notices the closed connection on its own.
    await expect
      .poll(() =>
        other.session("work").then(
          ({ id }) => id,
          () => "busy",
        ),
      )
      .toBe("work");
    expect(await (await other.session("work")).run("x")).toMatchObject({
      value: "1",
      notes: expect.arrayContaining([expect.stringContaining("later changes are lost")]),
    });
  });

  test("a run goes on while the database is down, says that it is not saved, and is saved once it is back", async () => {
    await using one = await machine("one");
    const session = await one.session("work");
    await session.run("x = 1");
    await session.save();
    await server.stop();
    const result = await session.run("x = 2\nx");
    expect(result).toMatchObject({
      value: "2",
      notes: expect.arrayContaining([expect.stringMatching(/not saved.*cannot be reached/)]),
    });
    expect(JSON.stringify(result.notes)).not.toContain("127.0.0.1");
    await expect(session.save()).rejects.toMatchObject({ code: "service_unavailable" });
    await expect(one.info("other")).rejects.toMatchObject({ code: "service_unavailable" });
    await server.start();
    await expect
      .poll(() =>
        session.save().then(
          ({ run }) => run,
          () => 0,
        ),
      )
      .toBe(2);
    await one.closeSession("work");
    await using two = await machine("two");
    expect(await (await two.session("work")).run("x")).toMatchObject({ value: "2" });
  });

  test("a database that is killed in the middle of a save has the save before it, and what is acknowledged", async () => {
    await using one = await machine("one");
    const session = await one.session("work");
    await session.run("x = b'1' * 1000");
    await session.save();
    // The third piece of a snapshot waits, so that the kill comes in the middle.
    await server.query(
      url,
      `create function codecell.wait() returns trigger language plpgsql as $$ begin
         if new.piece = 2 then perform pg_sleep(20); end if; return new; end $$;
       create trigger wait before insert on codecell.blob_pieces for each row execute function codecell.wait()`,
    );
    await session.run("import os; x = os.urandom(5_000_000)");
    const save = session.save().then(
      () => "saved",
      (error: { code: string }) => error.code,
    );
    const waiting = "select 1 from pg_stat_activity where wait_event = 'PgSleep'";
    await expect.poll(async () => (await server.query(url, waiting)).length).toBeGreaterThan(0);
    await server.kill();
    expect(await save).toBe("service_unavailable");
    await server.start();
    await server.query(url, "drop trigger wait on codecell.blob_pieces");
    const saved = `select (record->'snapshot'->>'run')::int as run, sha256 is not null as stored from codecell.sessions
      left join codecell.blobs on session_id = sessions.id and sha256 = record->'snapshot'->>'sha256'`;
    expect(await server.query(url, saved)).toEqual([{ run: 1, stored: true }]);
    await expect
      .poll(() =>
        session.save().then(
          ({ run }) => run,
          () => 0,
        ),
      )
      .toBe(2);
    await server.kill(); // right after the acknowledgement
    await server.start();
    expect(await server.query(url, saved)).toEqual([{ run: 2, stored: true }]);
    expect(await server.query(url, "select count(*)::int from codecell.blobs where kind = 'snapshot'")).toEqual([
      { count: 1 },
    ]);
  });

  test("a session whose variables cannot be read now does not start without them", async () => {
    {
      await using one = await machine("one");
      await (await one.session("work")).run("x = 1");
    }
    await using two = await machine("two");
    const session = await two.session("work");
    await server.stop();
    await expect(session.run("x")).rejects.toMatchObject({ code: "service_unavailable" });
    await server.start();
    await expect
      .poll(() =>
        session.run("x").then(
          ({ value }) => value,
          () => undefined,
        ),
      )
      .toBe("1");
  });
});
