import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOf, outputPattern } from "../support/doc-examples.ts";
import { availableRunners, root } from "./codecell-process.ts";
import { ServiceDirectory } from "./running-service.ts";

const runners = await availableRunners();
const examples = examplesOf(await readFile(join(root, "docs", "http.md"), "utf8"), runners);
const version = await new Promise<string>((resolve) => {
  execFile("curl", ["--version"], (error, stdout) => resolve(error ? "" : stdout));
});
const [, major = "0", minor = "0"] = /^curl (\d+)\.(\d+)/.exec(version) ?? [];
/** --json came with 7.82 */
const hasCurl = Number(major) * 1000 + Number(minor) >= 7082;
if (!hasCurl) console.warn("skipped: the examples of docs/http.md need curl 7.82 or newer");

describe.skipIf(!hasCurl || !runners.includes("process"))("docs/http.md", () => {
  const token = "the-token-of-the-page";
  let directory: ServiceDirectory;
  let url: string;
  beforeAll(async () => {
    directory = await ServiceDirectory.make();
    ({ url } = (await directory.serve(["--runner", "process"], { env: { CODECELL_TOKEN: token } })).facts);
  });
  afterAll(() => directory?.[Symbol.asyncDispose]());

  test("has examples", () => expect(examples.length).toBeGreaterThan(15));

  // in the order of the page, because an example may use the result of an earlier one
  test.each(examples)("$command", async ({ command, output }) => {
    const env = { ...process.env, URL: url, TOKEN: token, no_proxy: "127.0.0.1" };
    const shown = await new Promise<string>((resolve) => {
      execFile("/bin/sh", ["-c", `{ ${command}\n} 2>&1`], { cwd: directory.path, env }, (_error, stdout) =>
        resolve(stdout.trimEnd()),
      );
    });
    expect(shown).toMatch(outputPattern(output));
  });
});
