import { afterEach, beforeEach, expect, test } from "vitest";
import { newAuditDir } from "../../test/support/audit-logs.ts";
import { listChains, namespaceOfChain } from "./chain/chain-files.ts";
import type { AuditEvent } from "./event.ts";
import { readAudit } from "./read.ts";
import { TenantLogs } from "./tenant-logs.ts";
import { verifyAudit } from "./verify.ts";

const [quiet, busy] = ["ns-00000000000a", "ns-00000000000b"];
const small = { durable: false, keepBytes: 6_000, keepMs: 10 ** 9, fileBytes: 1_500 };

let place: Awaited<ReturnType<typeof newAuditDir>>;
beforeEach(async () => {
  place = await newAuditDir();
});
afterEach(() => place[Symbol.asyncDispose]());

const named = (session: string, name: string): AuditEvent => ({ type: "session.checkpoint", session, name });

async function namesOf(sessionPrefix: string): Promise<unknown[]> {
  const names: unknown[] = [];
  for await (const { event } of readAudit(place.path, { sessionPrefix })) names.push(event.name);
  return names;
}

test("a tenant that fills its audit does not remove the history of another tenant or of the service", async () => {
  for (const round of [1, 2]) {
    await using logs = new TenantLogs({ dir: place.path, ...small });
    logs.record(named(`${quiet}.s`, `quiet${round}`));
    logs.record(named("local", `local${round}`));
    for (let n = 0; n < 60; n++) logs.record(named(`${busy}.s`, `busy${n}`));
    logs.recordLater(Promise.resolve([named(`${busy}.s`, "last")]), `${busy}.s`);
    await logs.settled();
  }
  expect(await namesOf(`${quiet}.`)).toEqual(["quiet1", "quiet2"]);
  expect(await namesOf("local")).toEqual(["local1", "local2"]);
  const left = await namesOf(`${busy}.`);
  expect(left.at(-1)).toBe("last");
  expect(left.length).toBeLessThan(40);
  // Each tenant continues its own chain, and nobody else's.
  const whose = (await listChains(place.path)).map((chain) => namespaceOfChain(chain) ?? "");
  expect(whose.sort()).toEqual(["", quiet, busy]);
  expect((await verifyAudit(place.path)).isSound).toBe(true);
});

test("a tenant whose events do not fit into memory does not make another tenant's events fail", async () => {
  await using logs = new TenantLogs({ dir: place.path, ...small, durable: true, maxQueuedBytes: 5_000 });
  for (let n = 0; n < 60; n++) logs.record(named(`${busy}.s`, `busy${n}`));
  logs.record(named(`${quiet}.s`, "quiet"));
  // asked at once, as a run asks that waits for its own event
  const busySettled = expect(logs.settled(`${busy}.s`)).rejects.toMatchObject({ code: "audit_failed" });
  await logs.settled(`${quiet}.s`);
  await busySettled;
  expect(await namesOf(`${quiet}.`)).toEqual(["quiet"]);
});

test("a service with many tenants closes the chains that it has not used for a while, and continues them later", async () => {
  let now = Date.now();
  const tenant = (n: number) => `ns-${String(n).padStart(12, "0")}`;
  {
    await using logs = new TenantLogs({ dir: place.path, ...small, keepBytes: 10 ** 6, now: () => now });
    for (let n = 0; n < 64; n++) logs.record(named(`${tenant(n)}.s`, "early"));
    await logs.settled();
    now += 61_000;
    logs.record(named(`${tenant(64)}.s`, "late"));
    await expect.poll(closedChains).toBe(64);
    logs.record(named(`${tenant(0)}.s`, "again"));
  }
  expect(await namesOf(`${tenant(0)}.`)).toEqual(["early", "again"]);
  expect(await listChains(place.path)).toHaveLength(65);

  async function closedChains(): Promise<number> {
    let closed = 0;
    for await (const { event } of readAudit(place.path)) if (event.type === "audit.closed") closed++;
    return closed;
  }
});
