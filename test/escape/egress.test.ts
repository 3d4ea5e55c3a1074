import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { type LoopbackWeb, openLoopbackWeb } from "../support/loopback-web.ts";
import { look, run, skipsProcess } from "../support/process-cells.ts";
import { isMissing, tiers } from "../support/tiers.ts";

/** The carrier of all other tiers. */
const overStreams = (["template", "direct"] as const).map((layout) => ({
  name: `process ${layout}, over streams`,
  make: () => processRunner({ layout, carrier: "streams" }),
  isAbsent: skipsProcess,
}));
const withSockets = [
  ...(await Promise.all(
    tiers.filter(({ name }) => name !== "wasm").map(async (tier) => ({ ...tier, isAbsent: await isMissing(tier) })),
  )),
  ...overStreams,
];

describe.each(withSockets.filter(({ isAbsent }) => !isAbsent))("a cell with a network, $name", ({ make }) => {
  let web: LoopbackWeb;
  let codecell: LiveSessions;
  let session: LiveSession;

  beforeAll(async () => {
    web = await openLoopbackWeb();
    codecell = await LiveSessions.open({
      policy: parsePolicy({
        proc: { timeout: "30s" },
        net: { enabled: true, allowlist: [`good.example:${web.port}`, "inside.example", `*.wide.example:${web.port}`] },
      }),
      runners: [make()],
      egress: { fixedAddresses: { "good.example": "127.0.0.1", "a.wide.example": "127.0.0.1" } },
    });
    session = await codecell.openSession();
  });
  afterAll(async () => {
    await codecell?.close();
    await web?.close();
  });

  test("reaches an allowed host through urllib without any proxy settings", async () => {
    const code = `import urllib.request\nprint(urllib.request.urlopen("http://good.example:${web.port}/hello").read().decode())`;
    const result = await run(session, code);
    expect(result).toMatchObject({ status: "ok", stdout: `GET good.example:${web.port}/hello\n`, notes: [] });
    expect(result.egress).toMatchObject({
      allowed: [{ host: "good.example", port: web.port, requests: 1 }],
      denied: [],
    });
  });

  test("is refused every other host, and the result has the reason", async () => {
    const code = 'import urllib.request\nurllib.request.urlopen("http://evil.example/")';
    const result = await run(session, code);
    expect(result.error?.message).toContain("HTTP Error 403: codecell: evil.example is not in net.allowlist");
    expect(result.notes).toEqual([
      "network: evil.example:80 was refused: evil.example is not in net.allowlist; add evil.example to net.allowlist",
    ]);
    expect(result.egress?.denied).toMatchObject([{ host: "evil.example", port: 80, requests: 1 }]);
  });

  test("has no route around its proxy", async () => {
    const code = `
import socket
found = {}
for name, attempt in {
    "the server": lambda: socket.create_connection(("127.0.0.1", ${web.port}), 2),
    "a public address": lambda: socket.create_connection(("192.0.2.1", 443), 2),
    "a name": lambda: socket.getaddrinfo("good.example", 80),
    "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)),
}.items():
    try:
        attempt()
        found[name] = "got through"
    except OSError as error:
        found[name] = "failed"
print(json.dumps(found))`;
    expect(Object.values((await look(session, code)) as object)).toEqual(["failed", "failed", "failed", "failed"]);
  });

  test("cannot impersonate the proxy", async () => {
    const code = `
import socket
taken = []
for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
    with socket.socket() as attempt:
        attempt.setsockopt(socket.SOL_SOCKET, option, 1)
        try:
            attempt.bind(("127.0.0.1", 3128))
            attempt.listen()
            taken.append(option)
        except OSError:
            pass
print(json.dumps(taken))`;
    expect(await look(session, code)).toEqual([]);
  });

  test("transfers megabytes in both directions without loss", async () => {
    const size = 8 << 20;
    const code = `
import hashlib, os, urllib.request
data = os.urandom(${size})
echoed = urllib.request.urlopen(urllib.request.Request("http://good.example:${web.port}/echo", data=data)).read()
print(json.dumps([len(echoed), echoed == data]))`;
    expect(await look(session, code)).toEqual([size, true]);
  });

  test("stays responsive while connections that nobody reads hang", async () => {
    const stalled = `
import socket
hanging = []
for _ in range(30):
    one = socket.create_connection(("127.0.0.1", 3128))
    one.sendall(b"GET http://good.example:${web.port}/endless HTTP/1.1\\r\\nHost: good.example:${web.port}\\r\\n\\r\\n")
    hanging.append(one)`;
    expect(await run(session, stalled)).toMatchObject({ status: "ok" });
    const code = `import urllib.request\nprint(urllib.request.urlopen("http://good.example:${web.port}/x").read().decode())`;
    expect(await run(session, code)).toMatchObject({ stdout: `GET good.example:${web.port}/x\n` });
    expect(await run(session, "[one.close() for one in hanging] and None")).toMatchObject({ status: "ok" });
  });

  test("gets nothing from a name that resolves to an internal address", async () => {
    // inside.example has no fixed address: whatever the host's resolver returns, nothing on loopback answers
    const code = 'import urllib.request\nurllib.request.urlopen("http://inside.example/")';
    const result = await run(session, code);
    expect(result.error?.message).toMatch(/HTTP Error (403|502): codecell: inside\.example/);
  });

  test("keeps its network after a crash of the interpreter", async () => {
    expect(await run(session, "import os\nos.abort()")).toMatchObject({ status: "crashed" });
    const code = `import urllib.request\nprint(urllib.request.urlopen("http://a.wide.example:${web.port}/").read().decode())`;
    expect(await run(session, code)).toMatchObject({ stdout: `GET a.wide.example:${web.port}/\n` });
  });
});

describe.skipIf(skipsProcess)("a cell without network", () => {
  test("has no listener on the proxy's port and no proxy variables", async () => {
    await using codecell = await LiveSessions.open({ policy: parsePolicy({}), runners: [processRunner()] });
    const session = await codecell.openSession();
    const code = `
import os, socket
try:
    socket.create_connection(("127.0.0.1", 3128), 2)
    found = "somebody"
except OSError:
    found = "nobody"
print(json.dumps([found, [name for name in os.environ if "proxy" in name.lower() or "CERT" in name]]))`;
    expect(await look(session, code)).toEqual(["nobody", []]);
    expect(await run(session, "1")).not.toHaveProperty("egress");
  });
});
