import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { DashboardFiles } from "./dashboard-files.ts";

async function page(): Promise<DashboardFiles> {
  const directory = await mkdtemp(join(tmpdir(), "codecell-page-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await mkdir(join(directory, "dashboard", "assets"), { recursive: true });
  await writeFile(join(directory, "dashboard", "index.html"), "<!doctype html>");
  await writeFile(join(directory, "dashboard", "assets", "index-1.js"), "1");
  await writeFile(join(directory, "dashboard", "assets", "index-1.js.map"), "{}");
  await writeFile(join(directory, "secret.js"), "2");
  return new DashboardFiles(join(directory, "dashboard"));
}

test("the page is at / and is checked again at each visit", async () => {
  const file = await (await page()).find("/");
  expect(file).toMatchObject({ contentType: "text/html; charset=utf-8", isImmutable: false });
  expect(gunzipSync(file?.gzipped ?? "").toString()).toBe("<!doctype html>");
});

test("files with a hash in their name are kept by browsers", async () => {
  expect(await (await page()).find("/assets/index-1.js")).toMatchObject({ isImmutable: true });
});

test.each([
  "/assets/../../secret.js",
  "/assets/..%2f..%2fsecret.js",
  "/assets/",
  "/assets/index-1.js.map",
  "/index.html",
])("no file is found at %s", async (path) => {
  expect(await (await page()).find(path)).toBeUndefined();
});

test("a package without a built page has none", async () => {
  expect(await new DashboardFiles("/nowhere").find("/")).toBeUndefined();
});
