import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { packageRoot } from "../../src/lib/files/package-root.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import { TestService } from "../support/http-service.ts";

const directory = join(packageRoot(), "dist", "dashboard");

test("the whole page has less than 150 KB when it is compressed", async () => {
  const names = await readdir(join(directory, "assets"));
  const files = ["index.html", ...names.map((name) => join("assets", name))];
  const sizes = await Promise.all(files.map(async (name) => gzipSync(await readFile(join(directory, name))).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(150_000);
});

test("nothing of the page names another origin or is written inline", async () => {
  const html = await readFile(join(directory, "index.html"), "utf8");
  expect(html).not.toMatch(/https?:/);
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=/i);
});

test("the page needs no token, may not be framed, and gives nothing to other origins", async () => {
  const service = await TestService.open({ runners: [wasmRunner()] });
  onTestFinished(() => service[Symbol.asyncDispose]());
  const { headers, status } = await fetch(`${service.listener.url}/`);
  expect(status).toBe(200);
  expect(headers.get("content-security-policy")).toBe(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' blob: data:; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  );
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(headers.get("content-encoding")).toBe("gzip");
  expect((await fetch(`${service.listener.url}/`, { method: "POST" })).status).toBe(405);
  expect((await fetch(`${service.listener.url}/assets/none.js`)).status).toBe(404);
  expect((await fetch(`${service.listener.url}/nothing`)).status).toBe(401);
});
