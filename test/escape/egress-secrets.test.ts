import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { type Audit, openAudit } from "../../src/sessions/open-audit.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import { hostProcesses, look, run, skipsProcess } from "../support/process-cells.ts";
import { openSecretOrigin, type SecretOrigin } from "../support/secret-origin.ts";
import { makeAuthority, type TestAuthority } from "../support/test-authority.ts";
import { isMissing, tiersByRequest } from "../support/tiers.ts";

const value = "v4lue-that-no-cell-may-see-0123456789";
const variable = "CODECELL_SECRETS_TEST";
/** the value with every character shifted by one, so that passing it to a cell does not put the value into its memory */
const shifted = Buffer.from(value.replace(/./g, (character) => String.fromCharCode(character.charCodeAt(0) + 1)));

const withSockets = await Promise.all(
  tiersByRequest
    .filter(({ name }) => name !== "wasm")
    .map(async (tier) => ({ ...tier, isAbsent: await isMissing(tier) })),
);

function hasOpenssl(): boolean {
  try {
    execFileSync("openssl", ["version"]);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!hasOpenssl()).each(withSockets.filter(({ isAbsent }) => !isAbsent))(
  "a secret in $name",
  ({ make }) => {
    let root: string;
    let authority: TestAuthority;
    let origin: SecretOrigin;
    let audit: Audit;
    let codecell: LiveSessions;
    let session: LiveSession;
    const results: RunResult[] = [];
    const logged: unknown[] = [];

    beforeAll(async () => {
      root = mkdtempSync(join(tmpdir(), "secrets-"));
      chmodSync(root, 0o755);
      authority = await makeAuthority(root, ["good.example", "other.example"]);
      origin = await openSecretOrigin(authority, { password: value, redirectHost: "other.example" });
      process.env[variable] = value;
      const hosts = [`good.example:${origin.port}`, `other.example:${origin.port}`];
      const policy = parsePolicy({
        proc: { timeout: "30s" },
        net: {
          ...{ enabled: true, allowlist: hosts, inspect: true },
          rules: [{ host: "other.example", methods: ["GET"], paths: ["/echo", "/public/**"] }],
          secrets: { API_TOKEN: { from: `env:${variable}`, hosts: [`good.example:${origin.port}`] } },
        },
      });
      const note = (message: string, fields?: object) => void logged.push(message, fields);
      audit = openAudit(policy, { stateDir: join(root, "state") });
      codecell = await LiveSessions.open({
        policy,
        runners: [make()],
        audit,
        egress: {
          fixedAddresses: { "good.example": "127.0.0.1", "other.example": "127.0.0.1" },
          authorities: [readFileSync(join(authority.directory, "ca.crt"), "utf8")],
          logger: { debug: note, info: note, warn: note, error: note },
        },
      });
      session = await codecell.openSession();
    });
    afterAll(async () => {
      delete process.env[variable];
      await codecell?.close();
      await audit?.[Symbol.asyncDispose]();
      await origin?.close();
      rmSync(root, { recursive: true, force: true });
    });

    async function ask(code: string): Promise<RunResult> {
      const result = await run(session, `import os, urllib.request, urllib.error\n${code}`);
      results.push(result);
      return result;
    }
    const request = (host: string, path: string, more = "") =>
      `urllib.request.Request("https://${host}:${origin.port}${path}", headers={"Authorization": "Bearer " + os.environ["API_TOKEN"]}${more})`;

    test("is a placeholder in the cell, and reaches its host as the real value", async () => {
      expect(await look(session, `import os\nprint(json.dumps(os.environ["API_TOKEN"]))`)).toMatch(
        /^cc_secret_[0-9a-f]{32}$/,
      );
      const result = await ask(
        `answer = urllib.request.urlopen(${request("good.example", "/echo")})\nprint(answer.headers["x-echo"], answer.read().decode())`,
      );
      expect(origin.seen.at(-1)).toMatchObject({
        host: `good.example:${origin.port}`,
        authorization: `Bearer ${value}`,
      });
      const masked = "*".repeat(value.length);
      expect(result).toMatchObject({ status: "ok", stdout: `Bearer ${masked} sent Bearer ${masked}\n`, notes: [] });
      expect(result.egress?.allowed).toMatchObject([{ host: "good.example", port: origin.port, requests: 1 }]);
    });

    test("is not sent to another host, and the result reports the attempt", async () => {
      const before = origin.seen.length;
      const result = await ask(`urllib.request.urlopen(${request("other.example", "/echo")})`);
      expect(result.error?.message).toContain(
        "HTTP Error 403: codecell: the secret API_TOKEN may not be sent to other.example",
      );
      expect(result.notes).toEqual([expect.stringContaining("the secret API_TOKEN may not be sent to other.example")]);
      expect(origin.seen).toHaveLength(before);
    });

    test("does not follow a redirect to another host", async () => {
      const before = origin.seen.length;
      const result = await ask(`urllib.request.urlopen(${request("good.example", "/to-other")})`);
      expect(result.error?.message).toContain("HTTP Error 403");
      expect(origin.seen.slice(before).map(({ path }) => path)).toEqual(["/to-other"]);
    });

    test("is not revealed by a forged Host header or TLS server name", async () => {
      const before = origin.seen.length;
      const code = `
import http.client, socket, ssl
found = []
context = ssl.create_default_context()
for host, name, field in (("good.example", "good.example", "other.example"), ("other.example", "good.example", "good.example")):
    raw = socket.create_connection(("127.0.0.1", 3128))
    raw.sendall(f"CONNECT {host}:${origin.port} HTTP/1.1\\r\\nHost: {host}:${origin.port}\\r\\n\\r\\n".encode())
    assert b" 200 " in raw.recv(4096)
    try:
        secured = context.wrap_socket(raw, server_hostname=name)
        secured.sendall(f"GET /echo HTTP/1.1\\r\\nHost: {field}:${origin.port}\\r\\nAuthorization: {os.environ['API_TOKEN']}\\r\\n\\r\\n".encode())
        found.append(secured.recv(4096).decode().split()[1])
    except ssl.SSLError as error:
        found.append(error.reason)
print(found)`;
      expect((await ask(code)).stdout).toMatch(
        /^\['403', '(TLSV1_UNRECOGNIZED_NAME|TLSV1_ALERT_UNRECOGNIZED_NAME)'\]\n$/,
      );
      expect(origin.seen).toHaveLength(before);
    });

    test("does not change the method and path rules of other requests", async () => {
      const outcomes = await ask(`
def outcome(path, method="GET"):
    try:
        return urllib.request.urlopen(urllib.request.Request("https://other.example:${origin.port}" + path, method=method)).status
    except urllib.error.HTTPError as error:
        return error.code
print([outcome("/public/a"), outcome("/public/a", "DELETE"), outcome("/admin"), outcome("/public/%2e%2e/admin")])`);
      expect(outcomes.stdout).toBe("[200, 403, 403, 403]\n");
      expect(outcomes.notes.join()).toContain("net.rules does not allow DELETE to other.example");
    });

    test("is nowhere in the cell's memory and files", async () => {
      const code = `
import os, re
table = bytes((byte + 1) % 256 for byte in range(256))
needle = bytes.fromhex("${shifted.toString("hex")}")
scanned, found = 0, []
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as memory:
    for line in maps.read().splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if "r" not in line.split()[1] or "[v" in line:
            continue
        for at in range(start, end, 1 << 20):
            try:
                memory.seek(at)
                piece = memory.read(min((1 << 20) + len(needle), end - at))
            except (OSError, ValueError, OverflowError):
                continue
            scanned += len(piece)
            if needle in piece.translate(table):
                found.append(line)
for directory, _, names in os.walk("/tmp"):
    for name in names:
        with open(os.path.join(directory, name), "rb") as file:
            content = file.read()
            scanned += len(content)
            if needle in content.translate(table):
                found.append(name)
print(json.dumps([scanned > 1 << 20, found]))`;
      expect(await look(session, code)).toEqual([true, []]);
    });

    test("is nowhere in results, receipts, logs, the audit, or the proxy's command line and environment", async () => {
      expect(results.length).toBeGreaterThan(0);
      for (const told of [results, session.receipt, logged, codecell.choice.plan, codecell.policy])
        expect(JSON.stringify(told)).not.toContain(value);
      await session.close();
      await codecell.audit?.audit.settled();
      const files = filesBelow(join(root, "state"));
      expect(files.some((file) => readFileSync(file, "utf8").includes("session.opened"))).toBe(true);
      for (const file of files) expect(readFileSync(file, "latin1")).not.toContain(value);
      const proxies = hostProcesses().filter(({ command }) => command.includes("egress/process/proxy-process.js"));
      expect(proxies.length).toBeGreaterThan(0);
      for (const { pid, command } of proxies) {
        expect(command).not.toContain(value);
        expect(environmentOf(pid)).not.toContain(value);
      }
    });
  },
);

describe.skipIf(skipsProcess)("a policy with a secret", () => {
  test("starts no session while the value is missing, and names the secret", async () => {
    const policy = parsePolicy({
      net: {
        ...{ enabled: true, inspect: true },
        secrets: { API_TOKEN: { from: "env:CODECELL_NOT_SET", hosts: ["a.example"] } },
      },
    });
    await using codecell = await LiveSessions.open({ policy, runners: [processRunner()] });
    const error = await codecell.openSession().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CodecellError);
    expect(error).toMatchObject({
      code: "secret_unavailable",
      message: expect.stringContaining("net.secrets.API_TOKEN"),
    });
  });

  test("gives no placeholder to a cell without network, and reads no value", async () => {
    const secrets = { API_TOKEN: { from: "file:/nowhere/token", hosts: ["a.example"], plaintext: true } };
    await using codecell = await LiveSessions.open({
      policy: parsePolicy({ net: { secrets } }),
      runners: [processRunner()],
    });
    const session = await codecell.openSession();
    expect(await look(session, 'import os\nprint(json.dumps("API_TOKEN" in os.environ))')).toBe(false);
  });
});

function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: "utf8" })
    .map((name) => join(directory, name))
    .filter((path) => statSync(path).isFile());
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1");
  } catch {
    return ""; // a process of another user
  }
}
