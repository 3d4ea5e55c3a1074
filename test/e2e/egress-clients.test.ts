import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parsePolicy } from "../../src/policy/file/parse-policy.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import { LiveSessions } from "../../src/sessions/live-sessions.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import { makeRepository } from "../support/git-repository.ts";
import { npmPackage } from "../support/npm-package.ts";
import { skipsProcess } from "../support/process-cells.ts";
import { makeAuthority } from "../support/test-authority.ts";

const exec = promisify(execFile);
const has = (program: string) =>
  exec(program, ["--version"]).then(
    () => true,
    () => false,
  );
const [hasCurl, hasGit, hasOpenssl] = await Promise.all([
  has("/usr/bin/curl"),
  has("/usr/bin/git"),
  exec("openssl", ["version"]).then(
    () => true,
    () => false,
  ),
]);

/** Ordinary clients in a cell, without proxy settings. The servers are on loopback addresses. */
describe.skipIf(skipsProcess || !hasOpenssl)("real clients in a cell", () => {
  let root: string;
  let codecell: LiveSessions;
  let session: LiveSession;
  const servers: Server[] = [];
  let [http, https] = [0, 0];

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "egress-clients-"));
    await chmod(root, 0o755);
    const authority = await makeAuthority(root, ["good.example", "other.example"]);
    await makeSite(join(root, "site"));
    const answer = serve(join(root, "site"));
    http = await listen(createHttpServer(answer), "127.7.0.1");
    https = await listen(createHttpsServer({ key: authority.key, cert: authority.cert }, answer), "127.7.0.2");
    const trust = Object.fromEntries(
      [
        ...["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "PIP_CERT"],
        ...["NODE_EXTRA_CA_CERTS", "npm_config_cafile"],
      ].map((name) => [name, "/ca/ca.crt"]),
    );
    codecell = await LiveSessions.open({
      policy: parsePolicy({
        proc: { timeout: "40s", memory: "1GiB", pids: 128 },
        fs: { mounts: [{ source: authority.directory, target: "/ca" }] },
        env: trust,
        net: { enabled: true, allowlist: [`plain.example:${http}`, `good.example:${https}`] },
      }),
      runners: [processRunner()],
      egress: {
        fixedAddresses: {
          "plain.example": "127.7.0.1",
          "good.example": "127.7.0.2",
          "other.example": "127.7.0.2",
        },
      },
    });
    session = await codecell.openSession();
  });
  afterAll(async () => {
    await codecell?.close();
    await Promise.all(servers.map((server) => new Promise((closed) => server.close(closed))));
    await rm(root, { recursive: true, force: true });
  });

  async function listen(server: Server, host: string): Promise<number> {
    servers.push(server);
    server.listen(0, host);
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  }

  const bash = (code: string): Promise<RunResult> => session.run(code, { language: "bash" });
  const python = (code: string): Promise<RunResult> => session.run(code);
  const refusal = (host: string, port: number) =>
    `network: ${host}:${port} was refused: ${host} is not in net.allowlist; add ${host}:${port} to net.allowlist`;

  describe.skipIf(!hasCurl)("curl", () => {
    test("fetches over http and https", async () => {
      expect(await bash(`curl -sS http://plain.example:${http}/hello.txt`)).toMatchObject({ stdout: "hello\n" });
      expect(await bash(`curl -sS https://good.example:${https}/hello.txt`)).toMatchObject({ stdout: "hello\n" });
    });

    test("follows a redirect to an allowed host, and none to another", async () => {
      expect(await bash(`curl -sSL http://plain.example:${http}/to-good`)).toMatchObject({ stdout: "hello\n" });
      const result = await bash(`curl -sSL http://plain.example:${http}/to-evil`);
      expect(result.stdout).toContain("codecell: evil.example is not in net.allowlist");
    });

    test("is refused another host over https, does not try again, and the result says why", async () => {
      const result = await bash(`curl -sS https://other.example:${https}/`);
      expect(result).toMatchObject({ exitCode: 56, notes: [refusal("other.example", https)] });
      expect(result.egress?.denied).toMatchObject([{ host: "other.example", requests: 1 }]);
    });

    test("cannot name an allowed host to the proxy and another to the server", async () => {
      const result = await bash(
        `curl -sS --connect-to other.example:${https}:good.example:${https} https://other.example:${https}/hello.txt`,
      );
      expect(result.stdout).toBe("");
      expect(result.notes).toEqual([expect.stringContaining("the TLS server name is not good.example")]);
    });
  });

  test("urllib fetches over https and shows the reason for a refusal", async () => {
    const fetch = (url: string) =>
      `import urllib.request\nprint(urllib.request.urlopen("${url}").read().decode(), end="")`;
    expect(await python(fetch(`https://good.example:${https}/hello.txt`))).toMatchObject({ stdout: "hello\n" });
    const refused = await python(fetch(`https://other.example:${https}/`));
    expect(refused.error?.message).toContain("codecell: other.example is not in net.allowlist");
  });

  test("requests (installed or pip's own copy) fetches over http and https", async (context) => {
    const load = "try:\n    import requests\nexcept ImportError:\n    from pip._vendor import requests";
    if ((await python(load)).status !== "ok") return context.skip("requests is not installed");
    const code = `[requests.get(url).text for url in ("http://plain.example:${http}/hello.txt", "https://good.example:${https}/hello.txt")]`;
    expect(await python(code)).toMatchObject({ value: "['hello\\n', 'hello\\n']" });
    const refused = await python(`requests.get("https://other.example:${https}/")`);
    expect(refused.error?.message).toContain("codecell: other.example is not in net.allowlist");
  });

  test("pip downloads from an allowed index, and fails at another without trying again", async (context) => {
    if ((await python("import pip, sys")).status !== "ok") return context.skip("pip is not installed");
    const download = (index: string) =>
      python(
        `import subprocess\nprint(subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "-d", "/tmp/wheels", "-i", "${index}", "tiny-example"], capture_output=True, text=True).stderr)\nimport os\nos.listdir("/tmp/wheels") if os.path.isdir("/tmp/wheels") else []`,
      );
    expect(await download(`https://other.example:${https}/simple`)).toMatchObject({
      value: "[]",
      egress: { denied: [{ host: "other.example", requests: 2 }] }, // for the package, and for a newer pip
    });
    expect(await download(`https://good.example:${https}/simple`)).toMatchObject({
      value: "['tiny_example-1.0-py3-none-any.whl']",
    });
  });

  test.skipIf(!hasGit)("git clones over http and https, shows why it is refused, and does not retry", async () => {
    for (const url of [`http://plain.example:${http}`, `https://good.example:${https}`]) {
      const result = await bash(`cd /tmp && rm -rf clone && git clone -q ${url}/repo.git clone && cat clone/README`);
      expect(result).toMatchObject({ exitCode: 0, stdout: "read me\n" });
    }
    const refused = await bash(`cd /tmp && git clone http://other.example:${http}/repo.git refused`);
    expect(refused.stderr).toContain("codecell: other.example is not in net.allowlist");
    const { egress } = await bash(`cd /tmp && git clone https://other.example:${https}/repo.git refused`);
    expect(egress?.denied).toMatchObject([{ host: "other.example", requests: 1 }]);
  });

  test("npm installs from an allowed registry over http and https, and shows the reason for a refusal", async (context) => {
    if ((await bash("npm --version")).exitCode !== 0) return context.skip("npm is not installed");
    const install = (registry: string) =>
      bash(`rm -rf /tmp/project && mkdir /tmp/project && cd /tmp/project && npm install --no-audit --registry ${registry} tiny-example &&
        cat node_modules/tiny-example/package.json`);
    for (const registry of [`http://plain.example:${http}/npm/`, `https://good.example:${https}/npm/`]) {
      const result = await install(registry);
      expect(result).toMatchObject({ exitCode: 0, notes: [] });
      expect(result.stdout).toContain('{"name":"tiny-example","version":"1.0.0"}');
    }
    for (const registry of [`http://other.example:${http}/npm/`, `https://other.example:${https}/npm/`]) {
      const refused = await install(registry);
      expect(refused.stderr).toContain("403 codecell: other.example is not in net.allowlist");
      expect(refused.egress?.denied).toMatchObject([{ host: "other.example", requests: 1 }]);
    }
  });

  /** Some files, a package index and a repository, served as static files. */
  async function makeSite(site: string): Promise<void> {
    await mkdir(join(site, "simple", "tiny-example"), { recursive: true });
    await writeFile(join(site, "hello.txt"), "hello\n");
    const wheel = "tiny_example-1.0-py3-none-any.whl";
    await writeFile(join(site, "simple", "tiny-example", "index.html"), `<a href="/${wheel}">${wheel}</a>`);
    const makeWheel = `
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    info = "tiny_example-1.0.dist-info/"
    archive.writestr("tiny_example.py", "")
    archive.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: tiny-example\\nVersion: 1.0\\n")
    archive.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    archive.writestr(info + "RECORD", "")
`;
    await exec("python3", ["-c", makeWheel, join(site, wheel)]);
    if (hasGit) await makeRepository(site, join(root, "work"));
  }

  function serve(site: string): RequestListener {
    return (request, answer) => {
      const path = normalize(new URL(request.url ?? "/", "http://any.example").pathname);
      if (path === "/to-good")
        return void answer.writeHead(302, { location: `https://good.example:${https}/hello.txt` }).end();
      if (path === "/to-evil") return void answer.writeHead(302, { location: "http://evil.example/" }).end();
      if (path === "/npm/tiny-example") {
        const { document } = npmPackage("tiny-example");
        return void answer.end(
          JSON.stringify(
            document(`${"encrypted" in request.socket ? "https" : "http"}://${request.headers.host}/npm/tiny.tgz`),
          ),
        );
      }
      if (path === "/npm/tiny.tgz") return void answer.end(npmPackage("tiny-example").tarball);
      const file = join(site, path, path.endsWith("/") ? "index.html" : "");
      readFile(file).then(
        (data) =>
          answer
            .writeHead(200, { "content-type": path.endsWith("/") ? "text/html" : "application/octet-stream" })
            .end(data),
        () => answer.writeHead(404).end(),
      );
    };
  }
});
