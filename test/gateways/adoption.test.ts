import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { type TestGateway, TestGateways } from "../support/gateways.ts";
import { noPostgres, type PostgresServer, startPostgres } from "../support/postgres.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** of a gateway that is to be lost, and of one that must not be, however busy the machine is */
const [shortMs, longMs] = [3_000, 60_000];
const persistent: PolicyInput = { session: { persist: true } };
/** It is still running when the gateway is lost. Two seconds after its end it would be saved. */
const changing = "x = 2\nimport time\ntime.sleep(60)";

describe.skipIf(noPostgres !== undefined || skipsProcess)("a gateway that is lost", () => {
  let server: PostgresServer;
  let url: string;
  let gateways: TestGateways;
  let token: string;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    url = await server.newDatabase();
  });
  afterEach(() => gateways?.[Symbol.asyncDispose]());

  async function two(policy: PolicyInput, leases = [shortMs, longMs]): Promise<[TestGateway, TestGateway]> {
    gateways = await TestGateways.open({ url, policy });
    token = await gateways.token("tenant");
    const [first = longMs, second = longMs] = leases;
    return Promise.all([gateways.start({ leaseMs: first }), gateways.start({ leaseMs: second })]);
  }
  const lost = ({ gateways: { lease } }: TestGateway) => expect.poll(() => lease.isHeld).toBe(false);
  /** Until the database, too, says that its lease is over. */
  const isOver = async (gateway: TestGateway) => {
    const rows = await server.query(
      url,
      "select renewed_until < clock_timestamp() as over from codecell.gateways where id = $1",
      [gateway.id],
    );
    return rows[0]?.over === true;
  };
  const over = (gateway: TestGateway) => expect.poll(() => isOver(gateway)).toBe(true);

  test("a save of an adopted session is refused as long as the caller does not know what was lost", async () => {
    const [first, second] = await two(persistent);
    const [here, there] = [first.client(token), second.client(token)];
    await here.session("kept");
    await here.run("kept", "x = 1");
    expect((await here.call("POST", "/v1/sessions/kept/save")).status).toBe(200);
    await here.run("kept", changing, { wait: 0 });
    first.isCutOff = true;
    await over(first);
    // It would save x = 1, and the caller would believe that x = 2 is safe.
    const save = await there.call("POST", "/v1/sessions/kept/save");
    expect([save.status, save.json.error.message]).toEqual([500, expect.stringContaining("was not saved")]);
    expect(save.json.error.message).toContain(`was open on gateway ${first.id}, which was lost at`);
    expect((await there.call("DELETE", "/v1/sessions/kept?forget=true")).status).toBe(204);
  });

  test("its saved sessions are adopted, and the next result says who was lost, since when, and what is left", async () => {
    const [first, second] = await two(persistent);
    const [here, there] = [first.client(token), second.client(token)];
    await here.session("kept");
    await here.run("kept", "x = 1");
    await here.call("POST", "/v1/sessions/kept/save");
    await here.run("kept", changing, { wait: 0 });
    first.isCutOff = true;
    await over(first);
    const { json } = await there.run("kept", "x");
    expect(json.value).toBe("1");
    const notes = json.notes.join("\n");
    expect(notes).toMatch(new RegExp(`session kept was open on gateway ${first.id}, which was lost at \\d{4}-`));
    expect(notes).toContain("the save after run 1");
    expect(notes).toContain("later changes are lost");
    expect((await there.run("kept", "x")).json.notes.join()).not.toContain("was lost");
  });

  test("it serves nothing from memory, says so in /readyz, and comes back without what others took", async () => {
    const [first, second] = await two(persistent);
    const [here, there] = [first.client(token), second.client(token)];
    for (const id of ["taken", "untouched"]) {
      await here.session(id);
      await here.run(id, "x = 'first'");
      await here.call("POST", `/v1/sessions/${id}/save`);
    }
    const waiting = here.run("taken", "import time; time.sleep(60)");
    await expect.poll(async () => (await there.call("GET", "/v1/sessions/taken")).json.busy).toBe(true);
    first.isCutOff = true;
    await lost(first);
    for (const answer of [await waiting, await here.run("untouched", "x")]) {
      expect([answer.status, answer.json.error.code]).toEqual([503, "service_unavailable"]);
      expect(answer.json.error.message).toContain("this gateway lost its lease");
      expect(answer.headers.get("retry-after")).toBe("1");
    }
    const ready = await here.call("GET", "/readyz");
    expect([ready.status, ready.json.error.message]).toEqual([503, expect.stringContaining("lost its lease")]);
    await over(first);
    await there.run("taken", "x = 'second'");
    first.isCutOff = false;
    await expect.poll(() => first.gateways.lease.isHeld).toBe(true);
    expect((await here.call("GET", "/readyz")).status).toBe(200);
    expect((await here.run("taken", "x")).json.value).toBe("'second'");
    // Nobody asked for this one meanwhile: its cell is still here, with everything in it.
    const { json } = await here.run("untouched", "x");
    expect([json.value, json.notes]).toEqual(["'first'", []]);
    expect(second.codecell.isOpen("untouched")).toBe(false);
  });

  test("its late writes are refused: a save that another gateway made stays", async () => {
    const [first, second] = await two(persistent);
    const [here, there] = [first.client(token), second.client(token)];
    await here.session("fenced");
    await here.run("fenced", "x = 'stale'");
    const [session] = first.codecell.openSessions();
    first.isCutOff = true;
    await over(first);
    await there.run("fenced", "x = 'new'");
    await there.call("POST", "/v1/sessions/fenced/save");
    await expect(session?.save()).rejects.toThrow(/held by another process|not saved|could not be saved/);
    await there.call("DELETE", "/v1/sessions/fenced");
    expect((await there.run("fenced", "x")).json.value).toBe("'new'");
  });

  test("sessions that were not saved are gone, and nobody gets an empty one in their place unasked", async () => {
    const [first, second] = await two({});
    const [here, there] = [first.client(token), second.client(token)];
    await here.session("volatile");
    await here.run("volatile", "x = 1");
    first.isCutOff = true;
    await over(first);
    const answer = await there.run("volatile", "x");
    expect([answer.status, answer.json.error.code]).toEqual([410, "session_closed"]);
    expect(answer.json.error.message).toMatch(
      new RegExp(`session volatile is gone: its gateway ${first.id} was lost at`),
    );
    expect((await there.call("GET", "/v1/sessions")).json.sessions).toEqual([]);
    const created = await there.call("POST", "/v1/sessions", { session_id: "volatile" });
    expect(created.status).toBe(201);
    const { json } = await there.run("volatile", "'x' in globals()");
    expect(json.value).toBe("False");
    expect(json.notes.join()).toContain("its variables and files are gone: this is a new, empty session");
  });

  test("one that stops in an orderly way gives its sessions back at once, saved", async () => {
    const [first, second] = await two(persistent, [longMs, longMs]);
    await first.client(token).session("handed");
    await first.client(token).run("handed", "x = 'last'");
    await first[Symbol.asyncDispose]();
    const { json } = await second.client(token).run("handed", "x");
    expect(json.value).toBe("'last'");
    expect(json.notes.join()).not.toContain("was lost");
    const rows = await server.query(url, "select id from codecell.gateways");
    expect(rows).toEqual([{ id: second.id }]);
  });

  test("a database that restarts costs no session, if it is back before the lease ends or nobody took the session", async () => {
    const [first, second] = await two(persistent, [shortMs, shortMs]);
    const here = first.client(token);
    await here.session("steady");
    await here.run("steady", "x = 'unsaved'");
    await server.stop();
    await Promise.all([lost(first), lost(second)]);
    expect((await here.run("steady", "x")).status).toBe(503);
    await server.start();
    await expect.poll(() => first.gateways.lease.isHeld && second.gateways.lease.isHeld).toBe(true);
    expect((await second.client(token).run("steady", "x")).json.value).toBe("'unsaved'");
  });
});
