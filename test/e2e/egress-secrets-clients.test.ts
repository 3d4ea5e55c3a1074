import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import { makeRepository } from "../support/git-repository.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { openSecretOrigin, type SecretOrigin } from "../support/secret-origin.ts";
import { makeAuthority } from "../support/test-authority.ts";

const exec = promisify(execFile);
const has = (program: string, ...args: string[]) =>
  exec(program, args).then(
    () => true,
    () => false,
  );
const [hasCurl, hasGit, hasOpenssl] = await Promise.all([
  has("/usr/bin/curl", "--version"),
  has("/usr/bin/git", "--version"),
  has("openssl", "version"),
]);
const value = "s3cret-of-the-clients-0123456789";

/** Ordinary clients. The variable holds a placeholder; TLS is inspected with a certificate authority that only this cell trusts. */
describe.skipIf(skipsProcess || !hasOpenssl)("real clients with a secret in a cell", () => {
  let root: string;
  let origin: SecretOrigin;
  let codecell: LiveSessions;
  let session: LiveSession;

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "secret-clients-"));
    await chmod(root, 0o755);
    const authority = await makeAuthority(root, ["good.example", "other.example"]);
    await makeSite(join(root, "site"));
    origin = await openSecretOrigin(authority, {
      password: value,
      site: join(root, "site"),
      redirectHost: "other.example",
    });
    await writeFile(join(root, "token"), `${value}\n`, { mode: 0o600 });
    const hosts = [`good.example:${origin.port}`, `other.example:${origin.port}`];
    codecell = await LiveSessions.open({
      policy: parsePolicy({
        proc: { timeout: "40s", pids: 128 },
        net: {
          ...{ enabled: true, allowlist: hosts, inspect: hosts },
          secrets: { TOKEN: { from: `file:${join(root, "token")}`, hosts: [`good.example:${origin.port}`] } },
        },
      }),
      runners: [processRunner()],
      egress: {
        fixedAddresses: { "good.example": "127.0.0.1", "other.example": "127.0.0.1" },
        authorities: [await readFile(join(authority.directory, "ca.crt"), "utf8")],
      },
    });
    session = await codecell.openSession();
  });
  afterAll(async () => {
    await codecell?.close();
    await origin?.close();
    await rm(root, { recursive: true, force: true });
  });

  const bash = (code: string): Promise<RunResult> => session.run(code, { language: "bash" });
  const at = (path: string, host = "good.example") => `https://${host}:${origin.port}${path}`;

  describe.skipIf(!hasCurl)("curl", () => {
    test("sends the secret as a bearer token, and sees asterisks where the server repeats it", async () => {
      const result = await bash(`curl -sS -H "Authorization: Bearer $TOKEN" ${at("/echo")}`);
      expect(result).toMatchObject({ exitCode: 0, stdout: `sent Bearer ${"*".repeat(value.length)}` });
      expect(origin.seen.at(-1)).toMatchObject({ authorization: `Bearer ${value}` });
    });

    test("sends the secret as a password", async () => {
      expect(await bash(`curl -sSf -u "git:$TOKEN" ${at("/site/hello.txt")}`)).toMatchObject({ stdout: "hello\n" });
    });

    test("does not send the secret to the host of a redirect, even with --location-trusted", async () => {
      const before = origin.seen.length;
      const result = await bash(`curl -sSL --location-trusted -H "Authorization: Bearer $TOKEN" ${at("/to-other")}`);
      expect(result.stdout).toContain("codecell: the secret TOKEN may not be sent to other.example");
      expect(origin.seen.slice(before).map(({ path }) => path)).toEqual(["/to-other"]);
    });

    test("does not have the value in its environment", async () => {
      const result = await bash("env");
      expect(result.stdout).toMatch(/^TOKEN=cc_secret_[0-9a-f]{32}$/m);
      expect(result.stdout).not.toContain(value);
    });
  });

  test("requests (installed or pip's own copy) sends the secret", async (context) => {
    const load = "try:\n    import requests\nexcept ImportError:\n    from pip._vendor import requests";
    if ((await session.run(load)).status !== "ok") return context.skip("requests is not installed");
    const code = `import os\nrequests.get("${at("/site/hello.txt")}", auth=("git", os.environ["TOKEN"])).text`;
    expect(await session.run(code)).toMatchObject({ value: "'hello\\n'" });
  });

  test.skipIf(!hasGit)("git clones with the secret, and stores only the placeholder", async () => {
    const url = at("/site/repo.git").replace("https://", "https://git:$TOKEN@");
    const result = await bash(`cd /tmp && git clone -q "${url}" clone && cat clone/README && cat clone/.git/config`);
    expect(result.exitCode).toBe(0);
    expect(result.stdout).toMatch(/^read me\n/);
    expect(result.stdout).toMatch(/git:cc_secret_[0-9a-f]{32}@good\.example/);
    expect(result.stdout).not.toContain(value);
  });

  async function makeSite(site: string): Promise<void> {
    await mkdir(site);
    await writeFile(join(site, "hello.txt"), "hello\n");
    if (hasGit) await makeRepository(site, join(root, "work"));
  }
});
