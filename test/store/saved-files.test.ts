import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { newStateDir, removeStateDir, runIn } from "../support/managers.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { skipsProcess } from "../support/process-cells.ts";

describe.skipIf(skipsProcess || noPostgres !== undefined)("files of sessions in PostgreSQL", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  test("come back on another machine with the same database, and only there", async () => {
    const database = await server.newDatabase();
    const open = async () => {
      const stateDir = await newStateDir(); // as another machine has it: nothing is in it
      onTestFinished(() => removeStateDir(stateDir));
      return Codecell.open({
        policy: { session: { persist: true }, proc: { timeout: "20s", memory: "256MiB", disk: "16MiB" } },
        ...{ runners: [processRunner()], stateDir, database, filesStayInCell: true },
      });
    };
    {
      await using first = await open();
      const session = await first.session("s");
      await session.upload("in.bin", Buffer.alloc(5_000_000, "abc"));
      await runIn(session, "n = 1\nopen('out.txt', 'w').write('made here')");
    }
    await using second = await open();
    const back = await second.session("s");
    const seen = await runIn(
      back,
      "n, open('out.txt').read(), open('in.bin', 'rb').read() == (b'abc' * 1666667)[:5000000]",
    );
    expect(seen.value).toBe("(1, 'made here', True)");
    await back.close({ forget: true });
    await using third = await open();
    const fresh = await runIn(await third.session("s"), "import os\nos.listdir('.'), 'n' in globals()");
    expect(fresh.value).toBe("([], False)");
  });
});
