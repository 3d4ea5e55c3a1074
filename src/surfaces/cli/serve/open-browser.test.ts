import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { Cleanup } from "../../../lib/cleanup.ts";
import { openBrowser, redirectPage } from "./open-browser.ts";

const link = "http://127.0.0.1:7410/#token=cc_secret";

async function directory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "codecell-open-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

test.skipIf(process.platform === "win32")("the browser gets a private file instead of the token", async () => {
  const runtimeDir = await directory();
  const browser = join(runtimeDir, "browser.sh");
  await writeFile(browser, `#!/bin/sh\nprintf %s "$*" > "${runtimeDir}/arguments"\n`);
  await chmod(browser, 0o700);
  const cleanup = new Cleanup();
  const env = { BROWSER: browser, PATH: process.env.PATH };
  expect(await openBrowser(link, { env, runtimeDir, port: 7410 }, cleanup)).toBeUndefined();
  const path = await vi.waitUntil(() => readFile(join(runtimeDir, "arguments"), "utf8").catch(() => ""), 20_000);
  expect(path).not.toContain("secret");
  expect(await readFile(path, "utf8")).toContain(`url=${link}`);
  expect((await stat(path)).mode & 0o077).toBe(0);
  await cleanup[Symbol.asyncDispose]();
  await expect(stat(path)).rejects.toThrow("ENOENT");
});

test("a browser that cannot be started is a reason, not an exception", async () => {
  const runtimeDir = await directory();
  await using cleanup = new Cleanup();
  const env = { BROWSER: join(runtimeDir, "missing") };
  const problem = await openBrowser(link, { env, runtimeDir, port: 1 }, cleanup);
  expect(problem).toMatch(/missing could not be started/);
});

test("a platform without a known browser is a reason, not an exception", async () => {
  await using cleanup = new Cleanup();
  const where = { env: {}, runtimeDir: await directory(), port: 1, platform: "aix" };
  expect(await openBrowser(link, where, cleanup)).toContain("aix");
});

test("a link cannot leave the attribute of the page that opens it", () => {
  expect(redirectPage('http://h/#"><script>')).not.toContain('"><script>');
});
