import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { PolicyInput } from "../../src/policy/schema.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import { TestService } from "../support/http-service.ts";
import { type LoopbackWeb, openLoopbackWeb } from "../support/loopback-web.ts";
import { newStateDir, openManager, removeStateDir, runIn } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

const egress = { fixedAddresses: { "good.example": "127.0.0.1", "other.example": "127.0.0.1" } };

describe.skipIf(skipsProcess)("a session's policy overrides", () => {
  let web: LoopbackWeb;
  let stateDir: string;
  let managers: Codecell[];
  beforeEach(async () => {
    managers = [];
    web = await openLoopbackWeb();
    stateDir = await newStateDir();
  });
  afterEach(async () => {
    for (const manager of managers) await manager[Symbol.asyncDispose]();
    await web.close();
    await removeStateDir(stateDir);
  });

  const hosts = () => [`good.example:${web.port}`, `other.example:${web.port}`];
  const status = (host: string) => `
import urllib.request, urllib.error
try:
    status = urllib.request.urlopen("http://${host}:${web.port}/").status
except urllib.error.HTTPError as error:
    status = error.reason
status`;
  async function open(net: PolicyInput["net"] = { allowlist: hosts() }): Promise<Codecell> {
    const manager = await openManager(
      stateDir,
      { net: { enabled: true, ...net }, session: { persist: true } },
      { egress },
    );
    managers.push(manager);
    return manager;
  }
  const denied = "'codecell: good.example is in net.deny (good.example)'";

  test("apply in its next cell, in this process and in another", async () => {
    const first = await open();
    const session = await first.session("one");
    await runIn(session, "x = 1");
    await session.updatePolicy({ net: { deny: ["good.example"] } });
    await session.managed.live?.close();
    expect(session.policy.net.deny).toEqual(["good.example"]);
    expect((await runIn(session, status("good.example"))).value).toBe(denied);
    await first.closeSession("one");
    await first[Symbol.asyncDispose]();
    const second = await (await open()).get("one");
    expect(second.policy.net.deny).toEqual(["good.example"]);
    expect((await runIn(second, status("good.example"))).value).toBe(denied);
    expect((await runIn(second, status("other.example"))).value).toBe("200");
  });

  test("apply after a kill before the first save, also to its forks", async () => {
    const first = await open();
    await first.session("one");
    const fork = await first.fork("one", "two");
    await (await first.get("one")).updatePolicy({ net: { deny: ["good.example"] } });
    expect(fork.policy.net.deny).toEqual(["good.example"]);
    const late = await first.fork("one", "three");
    const records = await Promise.all(["one", "two", "three"].map((id) => storedAsked(id)));
    expect(records).toEqual(Array(3).fill({ host: { deny: ["good.example"] } }));
    await first.closeSession("two", { forget: true });
    await late.updatePolicy({ net: { deny: null } });
    await expect(storedAsked("two")).rejects.toMatchObject({ code: "ENOENT" }); // a closed session is not written again
  });

  async function storedAsked(id: string): Promise<unknown> {
    return JSON.parse(await readFile(`${stateDir}/sessions/${id}/session.json`, "utf8")).asked;
  }

  test("are limited by the policy of the process that restores it", async () => {
    const first = await open();
    const session = await first.session("one");
    await session.updatePolicy({ net: { allowlist: [`good.example:${web.port}`] } });
    await first[Symbol.asyncDispose]();
    const second = await (await open({ allowlist: [`other.example:${web.port}`] })).get("one");
    expect(second.policy.net.allowlist).toEqual([]);
    expect((await runIn(second, status("good.example"))).value).toContain("not in net.allowlist");
  });

  test("are empty for a session from the pool, which follows the operator's policy", async () => {
    const policy = { net: { enabled: true, allowlist: hosts() }, session: { pool: 1 } };
    const manager = await openManager(stateDir, policy, { egress });
    managers.push(manager);
    await manager.poolFilled();
    await manager.reloadPolicy({ ...manager.policy, net: { ...manager.policy.net, deny: ["good.example"] } });
    const session = await manager.session();
    expect(manager.poolStatistics.hits).toBe(1);
    expect((await runIn(session, status("good.example"))).value).toBe(denied);
    expect(session.record.asked).toBeUndefined();
  });

  test("can change over HTTP within the service's policy, and open connections are closed", async () => {
    const policy = { proc: { timeout: "20s" }, net: { enabled: true, allowlist: hosts() } } as const;
    await using service = await TestService.open({ runners: [processRunner()], policy, egress });
    const client = await service.client("alice");
    await client.session("s");
    const code = `
import http.client, urllib.request
answer = urllib.request.urlopen("http://good.example:${web.port}/endless")
answer.read(1)
open("begun", "w").close()
try:
    while answer.read(1 << 20): pass
except (OSError, http.client.HTTPException) as error:
    print(type(error).__name__)`;
    const started = await client.call("POST", "/v1/sessions/s/runs", { code, wait: 0 });
    while ((await client.call("GET", "/v1/sessions/s/files/begun")).status !== 200);
    const patched = await client.call("PATCH", "/v1/sessions/s/policy", { net: { deny: ["good.example"] } });
    expect(patched.json).toMatchObject({
      net: { enabled: true, allowlist: hosts(), deny: ["good.example"], connections: 64, sent: "4GiB" },
      changes: [{ rule: "net.deny", from: "none", to: "good.example", direction: "narrower" }],
    });
    const path = `/v1/sessions/s/runs/${started.json.run_id}?wait=10`;
    expect((await client.call("GET", path)).json).toMatchObject({
      status: "ok",
      stdout: expect.stringMatching(/^(?:IncompleteRead|ConnectionResetError)\n$/),
    });
    expect((await client.call("GET", "/v1/sessions/s/policy")).json).toEqual({
      policy_hash: patched.json.policy_hash,
      net: patched.json.net,
    });
    const wider = await client.call("PATCH", "/v1/sessions/s/policy", { net: { allowlist: ["evil.example"] } });
    expect([wider.status, wider.json.error.code]).toEqual([403, "override_refused"]);
    expect(wider.json.error.message).toContain("a caller may only narrow");
    const less = await client.call("PATCH", "/v1/sessions/s/policy", { net: { sent: "1KiB" } });
    expect(less.json).toMatchObject({ net: { sent: "1KiB" }, changes: [{ rule: "net.sent", to: "1KiB" }] });
    const posted = `import urllib.request
urllib.request.urlopen("http://other.example:${web.port}/echo", data=b"x" * 100_000).read()`;
    const over = (await client.run("s", posted)).json;
    expect([over.status, over.notes]).toEqual([
      "error",
      [expect.stringContaining("the session has sent the 1KiB that net.sent allows")],
    ]);
    const wrong = await client.call("PATCH", "/v1/sessions/s/policy", { net: { sent: "0GiB" } });
    expect([wrong.status, wrong.json.error.code]).toEqual([400, "usage"]);
    const other = await client.call("PATCH", "/v1/sessions/s/policy", { proc: { memory: "4GiB" } });
    expect(other.status).toBe(400);
  });
});
