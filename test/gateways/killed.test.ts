import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { dice } from "../support/seeded-dice.ts";
import { isThorough } from "../support/thorough.ts";
import { CountedSession } from "./counted-session.ts";
import { GatewayProcess, untilAnswered } from "./gateway-process.ts";

/** By hand: `CODECELL_GATEWAY_ROUNDS=500 npx vitest run --project gateways test/gateways/killed.test.ts`. */
const rounds = Number(process.env.CODECELL_GATEWAY_ROUNDS ?? (isThorough ? 5 : 3));
const token = randomBytes(24).toString("hex");

describe.skipIf(noPostgres !== undefined || skipsProcess)("real gateways", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());

  test(`one of two is killed in the middle of runs, ${rounds} times: no save is lost, and nothing is missing without a note`, {
    timeout: 60_000 + rounds * 10_000,
  }, async () => {
    const database = await server.newDatabase();
    const seed = Number(process.env.CODECELL_GATEWAY_SEED ?? randomBytes(4).readUInt32LE());
    const { pick, below } = dice(seed);
    await using first = await GatewayProcess.start({ database, token });
    await using second = await GatewayProcess.start({ database, token });
    const both = [first, second];
    const problems: string[] = [];
    const sessions = ["a", "b", "c"].map((id) => new CountedSession(id, problems));
    const creators = sessions.map(() => pick(both));
    for (const [at, session] of sessions.entries()) await session.create(creators[at] ?? first);
    const epochs = new Map<string, bigint>();
    for (let round = 0; round < rounds; round++) {
      for (const session of sessions) {
        await session.count(() => pick(both));
        if (below(2) === 0) await session.save(pick(both));
      }
      // The first one that dies has a session, which must be adopted.
      const victim = round === 0 ? (creators[0] ?? first) : pick(both);
      const survivor = victim === first ? second : first;
      // All are in the middle of a run when the gateway dies; some of them run on it.
      const counting = sessions.map(async (session) => {
        let isKilled = false;
        void victim.finished.then(() => {
          isKilled = true;
        });
        await session.count(() => (isKilled ? survivor : pick(both)), `import time; time.sleep(0.${below(4)})`);
      });
      await new Promise((resolve) => setTimeout(resolve, below(300)));
      await victim.kill();
      const restarted = victim.restart();
      await Promise.all(counting);
      await restarted;
      const rows = await server.query(database, "select id, epoch from codecell.sessions where owner is not null");
      for (const { id, epoch } of rows as { id: string; epoch: string }[]) {
        const before = epochs.get(id) ?? 0n;
        if (BigInt(epoch) < before) problems.push(`${id}: epoch ${epoch} after ${before}`);
        epochs.set(id, BigInt(epoch));
      }
      if (problems.length > 0) break;
    }
    expect(problems, `seed ${seed}`).toEqual([]);
    const sum = (name: keyof CountedSession["counts"]) => sessions.reduce((all, { counts }) => all + counts[name], 0);
    if (rounds > 50) {
      console.log(
        JSON.stringify({
          rounds,
          seed,
          told: sum("told"),
          saved: sum("saved"),
          adopted: sum("adopted"),
          broken: sum("broken"),
          unknown: sum("unknown"),
        }),
      );
    }
    expect(sum("adopted")).toBeGreaterThan(0);
  });

  test("one that was stopped longer than its lease refuses its clients, and finds the session at the other one", async () => {
    const database = await server.newDatabase();
    // A clock that is an hour wrong changes nothing: only the time of the database counts.
    const wrongClock = "--import=data:text/javascript,const now=Date.now;Date.now=()=>now()+36e5";
    await using paused = await GatewayProcess.start({ database, token });
    // Its lease is long, but not much longer: it gives up a peer that does not answer when it renews its own.
    await using other = await GatewayProcess.start({ database, token, lease: "15s", nodeArgs: [wrongClock] });
    const stale = paused.client;
    await stale.session("s");
    await stale.run("s", "x = 'before'");
    await stale.call("POST", "/v1/sessions/s/save");
    const waiting = stale.run("s", "import time; time.sleep(8); x = 'stale'; x");
    const ranToItsEnd = new Promise((resolve) => setTimeout(resolve, 9_000));
    await expect.poll(async () => (await other.client.call("GET", "/v1/sessions/s")).json.busy).toBe(true);
    paused.signal("SIGSTOP");
    const adopted = await untilAnswered(() => other.client.run("s", "x += ' and after'; x"));
    expect(adopted.json.value).toBe("'before and after'");
    expect(adopted.json.notes.join()).toContain("which was lost at");
    expect((await other.client.call("POST", "/v1/sessions/s/save")).status).toBe(200);
    await ranToItsEnd; // its result waits for the gateway, which must not pass it on
    paused.signal("SIGCONT");
    const refused = await waiting;
    expect([refused.status, refused.json.error.code]).toEqual([503, "service_unavailable"]);
    expect(refused.json.error.message).toContain("this gateway lost its lease");
    const forwarded = await untilAnswered(() => stale.run("s", "x"));
    expect(forwarded.json.value).toBe("'before and after'");
    // In an orderly way: the session is saved and free at once, although the lease is not over.
    other.signal("SIGTERM");
    await other.finished;
    const last = await stale.run("s", "x");
    expect([last.json.value, last.json.notes.join().includes("was lost")]).toEqual(["'before and after'", false]);
  });
});
