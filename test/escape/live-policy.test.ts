import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { policyHash } from "../../src/policy/hash.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { Run } from "../../src/sessions/runs/run.ts";
import { FakeAudit } from "../fakes/fake-audit.ts";
import { type LoopbackWeb, openLoopbackWeb } from "../support/loopback-web.ts";
import { run, skipsProcess } from "../support/process-cells.ts";

describe.skipIf(skipsProcess)("a live session whose policy changes", () => {
  let web: LoopbackWeb;
  let good: string;
  let other: string;
  const open = async (net: object, audit = new FakeAudit()) => {
    const fixedAddresses = { "good.example": "127.0.0.1", "other.example": "127.0.0.1" };
    const policy = parsePolicy({ proc: { timeout: "30s" }, net: { enabled: true, ...net } });
    return LiveSessions.open({ policy, runners: [processRunner()], audit, egress: { fixedAddresses } });
  };
  beforeAll(async () => {
    web = await openLoopbackWeb();
    [good, other] = [`good.example:${web.port}`, `other.example:${web.port}`];
  });
  afterAll(() => web?.close());

  /** Waits until the program prints this. */
  async function said(running: Run, text: string): Promise<void> {
    let printed = "";
    for await (const event of running) {
      if (event.type === "stdout") printed += event.text;
      if (printed.includes(text)) return;
    }
    throw new Error(`the program ended after ${JSON.stringify(printed)}`);
  }

  const get = (host: string) => `import urllib.request\nurllib.request.urlopen("http://${host}/").read().decode()`;
  const refused = expect.stringMatching(/^network: good\.example:\d+ was refused: good\.example is in net\.deny/);

  describe("through the library", () => {
    let audit: FakeAudit;
    let codecell: LiveSessions;
    let session: LiveSession;
    beforeEach(async () => {
      audit = new FakeAudit();
      codecell = await open({ allowlist: [good, other] }, audit);
      session = await codecell.openSession();
      return () => codecell.close();
    });

    test("loses a download that is no longer allowed at once, and keeps an allowed one", async () => {
      const download = (name: string, host: string) =>
        `${name} = urllib.request.urlopen("http://${host}/endless")\n${name}.read(1)`;
      const running = session.run(`
import http.client, urllib.request
${download("kept", other)}
${download("lost", good)}
print("both run", flush=True)
try:
    while lost.read(1 << 20): pass
    print("lost: ended well")
except (OSError, http.client.HTTPException) as error:
    print("lost:", type(error).__name__)
print("kept:", len(kept.read(4 << 20)))`);
      await said(running, "both run");
      await session.updatePolicy({ net: { deny: ["good.example"] } });
      const result = await running;
      expect(result).toMatchObject({ status: "ok", notes: [refused] });
      expect(result.stdout).toMatch(/lost: (?:IncompleteRead|ConnectionResetError)\nkept: 4194304/);
    });

    test("loses a tunnel that is no longer allowed at once", async () => {
      const running = session.run(`
import socket
tunnel = socket.create_connection(("127.0.0.1", 3128))
tunnel.sendall(b"CONNECT ${good} HTTP/1.1\\r\\nHost: ${good}\\r\\n\\r\\n")
print(tunnel.recv(4096).decode().splitlines()[0], flush=True)
try:
    print("read", tunnel.recv(4096))
except ConnectionResetError:
    print("read", b"")`);
      await said(running, "HTTP/1.1 200");
      await session.updatePolicy({ net: { allowlist: [other] } });
      const result = await running;
      expect(result.stdout).toContain("read b''");
      expect(result.egress?.denied).toMatchObject([{ host: "good.example", requests: 1 }]);
    });

    test("is checked again for each request on a kept-alive connection", async () => {
      const ask = `kept.request("GET", "http://${good}/", headers={"Host": "${good}"})
answer = kept.getresponse()
print(answer.status, answer.reason, answer.read() and answer.will_close)`;
      const first = await run(
        session,
        `import http.client\nkept = http.client.HTTPConnection("127.0.0.1", 3128)\n${ask}`,
      );
      expect(first.stdout).toBe("200 OK False\n");
      await session.updatePolicy({ net: { deny: ["good.example"] } });
      expect((await run(session, ask)).stdout).toBe("403 codecell: good.example is in net.deny (good.example) True\n");
    });

    test("can regain hosts that it gave up, but none beyond its policy", async () => {
      await session.updatePolicy({ net: { enabled: false } });
      expect((await run(session, get(good))).error?.message).toContain(
        "the policy does not give this session a network",
      );
      await session.updatePolicy({ net: { enabled: true, allowlist: [good] } });
      expect(await run(session, get(good))).toMatchObject({ status: "ok" });
      await expect(session.updatePolicy({ net: { allowlist: ["evil.example"] } })).rejects.toMatchObject({
        code: "override_refused",
      });
      expect(session.policy.net.allowlist).toEqual([good]);
    });

    test("reports the change in its receipt, its results and the audit before it applies", async () => {
      const before = session.receipt.policyHash;
      const changes = await session.updatePolicy({ net: { allowlist: [other] } }, "caller");
      const hash = policyHash(session.policy);
      expect(hash).not.toBe(before);
      const { receipt } = await run(session, "1");
      expect(receipt.policyHash).toBe(hash);
      expect(receipt.rules).toContainEqual(
        expect.objectContaining({ rule: "net.allowlist", value: other, by: "proxy" }),
      );
      const change = { rule: "net.allowlist", from: `${good}, ${other}`, to: other, direction: "narrower" };
      expect(changes).toEqual([change]);
      expect(audit.of("override.applied")).toEqual([
        { type: "override.applied", session: session.id, by: "caller", policy: hash, changes: [change] },
      ]);
      expect(audit.of("run.started").map(({ policy }) => policy)).toEqual([hash]);
    });

    test("shares the change with its forks, which share its network", async () => {
      await using fork = await session.fork("fork");
      await fork.updatePolicy({ net: { deny: ["good.example"] } });
      expect(session.policy.net.deny).toEqual(["good.example"]);
      expect((await run(session, get(good))).notes).toEqual([refused]);
    });

    test("follows a change of the operator's policy, which also limits earlier overrides", async () => {
      await session.updatePolicy({ net: { allowlist: [good] } });
      const next = parsePolicy({ proc: { memory: "1GiB" }, net: { enabled: true, allowlist: [other] } });
      expect(await codecell.reloadPolicy(next)).toMatchObject({
        changes: [{ rule: "net.allowlist" }],
        later: ["proc.memory"],
      });
      expect(session.policy.net.allowlist).toEqual([]);
      expect((await run(session, get(other))).error?.message).toContain("is not in net.allowlist");
      await using fresh = await codecell.openSession();
      expect(await run(fresh, get(other))).toMatchObject({ status: "ok" });
      expect(fresh.receipt.policyHash).toBe(policyHash(codecell.policy));
      expect(audit.of("session.opened").at(-1)?.policy).toBe(fresh.receipt.policyHash);
      expect(audit.of("override.applied").map(({ by, session: whose }) => [by, whose])).toEqual([
        ["host", session.id],
        ["policy file", undefined],
        ["policy file", session.id],
      ]);
    });
  });

  test("gets the new policy if it opens while the policy is reloaded", async () => {
    await using codecell = await open({ allowlist: [good] });
    const opening = codecell.openSession();
    await codecell.reloadPolicy(parsePolicy({ net: { enabled: true, allowlist: [] } }));
    await using session = await opening;
    expect(session.policy.net.allowlist).toEqual([]);
    expect((await run(session, get(good))).error?.message).toContain("is not in net.allowlist");
  });

  test("gets no network if its cell was started without one", async () => {
    await using codecell = await open({ enabled: false });
    await using session = await codecell.openSession();
    await expect(session.updatePolicy({ net: { allowlist: [] } })).rejects.toMatchObject({
      code: "not_supported",
      hint: "set net.enabled in the policy and open a new session",
    });
    await expect(session.updatePolicy({ net: { enabled: true } })).rejects.toMatchObject({ code: "override_refused" });
  });

  test("keeps its policy if the change cannot be recorded in a durable audit", async () => {
    const audit = new FakeAudit({ durable: true });
    await using codecell = await open({ allowlist: [good] }, audit);
    await using session = await codecell.openSession();
    audit.isFull = true;
    await expect(session.updatePolicy({ net: { allowlist: [] } })).rejects.toMatchObject({ code: "audit_failed" });
    audit.isFull = false;
    expect(session.policy.net.allowlist).toEqual([good]);
    expect(await run(session, get(good))).toMatchObject({ status: "ok" });
  });
});
