import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { createServer as createPlainServer } from "node:http";
import { createServer } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { LoopbackServers } from "../../../test/support/loopback-servers.ts";
import { PackageIndex, send } from "../../../test/support/package-index.ts";
import { PackageLab } from "../../../test/support/packages/package-lab.ts";
import { buildWheel } from "../../../test/support/packages/wheel.ts";
import { makeAuthority } from "../../../test/support/test-authority.ts";
import { defaultLimits } from "../package-limits.ts";
import { parseIndexAddress } from "./index-address.ts";
import { type IndexAnswer, IndexRequests } from "./index-requests.ts";

const json = "application/vnd.pypi.simple.v1+json";
const failure = (reason: string, message: RegExp) => ({
  ...{ code: "packages_failed", details: { reason } },
  message: expect.stringMatching(message),
});
/** It makes the certificate of the other origin. */
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
const lib = { name: "lib", version: "1" };
const libPath = "/files/lib/lib-1-py3-none-any.whl";

describe("redirects and other origins", () => {
  test("a page may redirect within its own origin", async () => {
    await using lab = await PackageLab.open();
    lab.index.add(lib);
    lab.index.on("/other/lib/", (_, response) => response.writeHead(302, { location: "/simple/lib/" }).end());
    expect(await lab.versions("lib", { rules: { index: [`${lab.index.origin}/other`] } })).toEqual(["lib 1"]);
  });

  test("a page that redirects to another origin is refused, and that origin is not asked", async () => {
    await using lab = await PackageLab.open({ credentials: "user:secret" });
    await using other = await PackageIndex.start();
    other.add(lib);
    const location = `${other.origin}/simple/lib/`;
    lab.index.on("/simple/lib/", (_, response) => response.writeHead(302, { location }).end());
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("index", /must answer from its own origin/));
    expect(other.requests).toEqual([]);
  });

  test("a file on another origin needs https", async () => {
    await using lab = await PackageLab.open();
    await using other = await PackageIndex.start();
    other.add(lib);
    lab.index.add({ ...lib, url: `${other.origin}${libPath}` });
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("index", /files on another origin need https/));
    expect(other.requests).toEqual([]);
  });

  test("a redirect that never ends is refused", async () => {
    await using lab = await PackageLab.open();
    lab.index.on("/simple/lib/", (_, response) => response.writeHead(301, { location: "/simple/lib/" }).end());
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("index", /redirects more than 5 times/));
    expect(lab.index.requests.length).toBe(6);
  });

  test.skipIf(!hasOpenssl)(
    "a file on another origin over https is taken by its hash, without the index's credentials",
    async () => {
      const directory = await mkdtemp(join(tmpdir(), "codecell-packages-tls-"));
      try {
        await using lab = await PackageLab.open({ credentials: "user:secret" });
        await using servers = new LoopbackServers();
        const { key, cert, directory: trusted } = await makeAuthority(directory, ["localhost"]);
        const { content } = buildWheel(lib);
        const seen: (string | undefined)[] = [];
        const port = await servers.listen(
          createServer({ key, cert }, (request, response) => {
            seen.push(request.headers.authorization);
            response.end(content);
          }),
        );
        lab.index.add({ ...lib, url: `https://localhost:${port}/lib.whl` });
        const environment = { PIP_CERT: join(trusted, "ca.crt") };
        expect(await lab.versions("lib", { environment })).toEqual(["lib 1"]);
        expect(seen).toEqual([undefined]);
        expect(lab.index.authorizations).toEqual([`Basic ${btoa("user:secret")}`]);
        const untrusted = lab.prepare("lib", { environment: {}, cacheDir: join(lab.cacheDir, "other") });
        await expect(untrusted).rejects.toMatchObject(failure("index", /certificate/));
      } finally {
        await rm(directory, { recursive: true });
      }
    },
  );
});

describe("connections that are kept open", () => {
  const limits = defaultLimits;
  const asked = { accept: "*/*", maxBytes: 1000, timeoutMs: 5000 };
  const textOf = async ({ body }: IndexAnswer) => {
    const pieces: Buffer[] = [];
    for await (const piece of body) pieces.push(piece);
    return Buffer.concat(pieces).toString();
  };

  test.skipIf(!hasOpenssl)("one to a private index is not used for a file that a public index names", async () => {
    const directory = await mkdtemp(join(tmpdir(), "codecell-packages-tls-"));
    try {
      await using servers = new LoopbackServers();
      const { key, cert, directory: trusted } = await makeAuthority(directory, ["localhost"]);
      const port = await servers.listen(createServer({ key, cert }, (_, response) => response.end("private")));
      const certificates = readFileSync(join(trusted, "ca.crt"), "utf8");
      using requests = new IndexRequests({ limits, certificates });
      const privateIndex = parseIndexAddress(`https://localhost:${port}/simple`, "the test");
      const publicIndex = parseIndexAddress("https://packages.example/simple", "the test");
      const page = { ...asked, index: privateIndex, url: privateIndex.url, origins: "own" } as const;
      expect(await requests.get(page, textOf)).toBe("private");
      const file = { ...asked, index: publicIndex, url: privateIndex.url, origins: { scope: "public" } } as const;
      await expect(requests.get(file, textOf)).rejects.toThrow(/closer than its own/);
      expect(await requests.get(page, textOf)).toBe("private");
      expect(servers.sockets).toHaveLength(1);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  test("one that was opened with credentials is not used without them", async () => {
    await using servers = new LoopbackServers();
    const port = await servers.listen(createPlainServer((_, response) => response.end("ok")));
    using requests = new IndexRequests({ limits });
    for (const user of ["", "a:1@", "b:2@", "a:1@"]) {
      const index = parseIndexAddress(`http://${user}127.0.0.1:${port}/simple`, "the test");
      expect(await requests.get({ ...asked, index, url: index.url, origins: "own" }, textOf)).toBe("ok");
    }
    expect(servers.sockets).toHaveLength(3);
  });
});

test("a file that two packages name at one address must have the hash that each of them promises", async () => {
  await using lab = await PackageLab.open();
  lab.index.add(lib);
  // the address of another package's file, under a name and a hash of its own
  const stolen = { filename: "other-1-py3-none-any.whl", url: `${lab.index.origin}${libPath}` };
  const files = [{ ...stolen, hashes: { sha256: "b".repeat(64) } }];
  const page = JSON.stringify({ meta: { "api-version": "1.0" }, files });
  lab.index.on("/simple/other/", (_, response) => send(response, 200, json, page));
  await expect(lab.prepare(["lib", "other"])).rejects.toMatchObject(failure("hash", /not the file that was promised/));
});

describe("credentials of an index", () => {
  test("they are sent to the index, and stand in no result, error or cached file", async () => {
    await using lab = await PackageLab.open({ credentials: "somebody:s3cr3t-token" });
    lab.index.add(lib);
    const prepared = await lab.prepare("lib");
    expect(JSON.stringify(prepared)).not.toContain("s3cr3t");
    const wrong = lab.index.url.replace("s3cr3t", "wr0ng");
    const error: unknown = await lab.prepare("other", { rules: { index: [wrong] } }).catch((reason: unknown) => reason);
    expect(error).toMatchObject(failure("index", /answers 401/));
    expect(`${error}${JSON.stringify(error)}`).not.toMatch(/wr0ng|somebody/);
    const files = await readdir(lab.cacheDir, { recursive: true, withFileTypes: true });
    const texts = files.filter((file) => file.isFile()).map((file) => readFileSync(join(file.parentPath, file.name)));
    expect(texts.length).toBeGreaterThan(3);
    expect(texts.some((text) => text.includes("s3cr3t") || text.includes(btoa("somebody:s3cr3t-token")))).toBe(false);
  });

  test("an address that cannot be read is not repeated in the error", async () => {
    await using lab = await PackageLab.open();
    const error: unknown = await lab
      .prepare("lib", { rules: { index: ["https://user:s3cr3t@bad host/"] } })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "usage" });
    expect(`${error}`).not.toContain("s3cr3t");
  });

  test("an index over plain http is refused unless it is on this machine", async () => {
    await using lab = await PackageLab.open();
    const refused = lab.prepare("lib", { rules: { index: ["http://packages.example/simple"] } });
    await expect(refused).rejects.toMatchObject({ code: "usage", message: expect.stringMatching(/is not https/) });
  });
});

describe("an index that misbehaves", () => {
  test.each([
    ["text that is no page", json, "<html>"],
    ["JSON of another kind", json, '{"message": "hello"}'],
    ["JSON of another version", json, '{"meta": {"api-version": "2.0"}, "files": []}'],
    ["JSON that is nested very deeply", json, "[".repeat(100_000)],
    ["another type of content", "application/pdf", "%PDF"],
    ["no type of content", "", "{}"],
  ])("%s is refused", async (_, type, body) => {
    await using lab = await PackageLab.open();
    lab.index.on("/simple/lib/", (_request, response) => send(response, 200, type, body));
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("index", /is not a page of a package index/));
  });

  test("files in a page that make no sense are left out", async () => {
    await using lab = await PackageLab.open();
    const files = [
      1,
      null,
      {},
      { filename: "lib-1-py3-none-any.whl" },
      { filename: 3, url: "x" },
      { filename: "x", url: "http://[" },
    ];
    const page = JSON.stringify({ meta: { "api-version": "1.0" }, files });
    lab.index.on("/simple/lib/", (_, response) => send(response, 200, json, page));
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("no_version", /has no files of it/));
  });

  test("a page larger than the limit is cut off, with or without a length", async () => {
    await using lab = await PackageLab.open();
    lab.index.on("/simple/one/", (_, response) => send(response, 200, json, " ".repeat(200_000)));
    lab.index.on("/simple/two/", (_, response) => {
      response.writeHead(200, { "content-type": json });
      const pump = () => {
        while (!response.destroyed && response.write(" ".repeat(50_000)));
      };
      response.on("drain", pump);
      pump();
    });
    const limits = { pageBytes: 100_000 };
    for (const name of ["one", "two"])
      await expect(lab.prepare(name, { limits })).rejects.toMatchObject(failure("limit", /larger than 100000 bytes/));
  });

  test("an index that does not answer is given up, and so is one that goes silent or only drips", async () => {
    await using lab = await PackageLab.open();
    const timers: NodeJS.Timeout[] = [];
    lab.index.on("/simple/mute/", () => {});
    lab.index.on("/simple/silent/", (_, response) => response.writeHead(200, { "content-type": json }).write("{"));
    lab.index.on("/simple/drip/", (_, response) => {
      response.writeHead(200, { "content-type": json });
      timers.push(setInterval(() => response.write(" "), 20));
    });
    const idle = { idleMs: 100 };
    await expect(lab.prepare("mute", { limits: idle })).rejects.toMatchObject(failure("index", /nothing received/));
    await expect(lab.prepare("silent", { limits: idle })).rejects.toMatchObject(
      failure("index", /silent.*nothing received/),
    );
    const slow = lab.prepare("drip", { limits: { pageMs: 300 } });
    await expect(slow).rejects.toMatchObject(failure("index", /no complete answer within 0\.3 s/));
    for (const timer of timers) clearInterval(timer);
  });

  test("a download that ends in the middle is refused, and nothing of it is kept", async () => {
    await using lab = await PackageLab.open();
    lab.index.add(lib);
    lab.index.on(libPath, (_, response) => {
      response.writeHead(200, { "content-length": 1000 });
      response.write("PK", () => response.destroy());
    });
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("index", /lib-1/));
    expect(await readdir(join(lab.cacheDir, "wheels"))).toEqual([]);
  });

  test("a download that was cut short but looks whole does not have its hash", async () => {
    await using lab = await PackageLab.open();
    lab.index.add(lib);
    lab.index.on(libPath, (_, response) => send(response, 200, "application/zip", "PK"));
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("hash", /not the file that was promised/));
  });

  test("a compressed answer is refused: nobody asked for one, and it could grow without a bound", async () => {
    await using lab = await PackageLab.open();
    lab.index.on("/simple/lib/", (_, response) =>
      response.writeHead(200, { "content-type": json, "content-encoding": "gzip" }).end("x"),
    );
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("index", /compressed/));
  });

  test("an index that cannot be reached is named with the reason", async () => {
    await using lab = await PackageLab.open();
    const gone = await PackageIndex.start();
    await gone[Symbol.asyncDispose]();
    await expect(lab.prepare("lib", { rules: { index: [gone.url] } })).rejects.toMatchObject(
      failure("index", /cannot be used: .*ECONNREFUSED/),
    );
  });

  test("a file that is listed but missing is an error of the index", async () => {
    await using lab = await PackageLab.open();
    lab.index.add(lib);
    lab.index.on(libPath, (_, response) => send(response, 404, "text/plain", ""));
    await expect(lab.prepare("lib")).rejects.toMatchObject(failure("index", /lists lib-1.*does not have it/));
  });
});
