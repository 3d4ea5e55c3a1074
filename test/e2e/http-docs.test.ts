import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOf, outputPattern } from "../support/doc-examples.ts";
import { availableRunners, CodecellProcess, launcher, root } from "./codecell-process.ts";

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
  let cwd: string;
  let server: CodecellProcess;
  let url: string;
  beforeAll(async () => {
    cwd = await mkdtemp(join(tmpdir(), "codecell-http-docs-"));
    await chmod(cwd, 0o711); // as root, cells run under another uid and pass through
    const place = ["--state-dir", join(cwd, "state"), "--runtime-dir", join(cwd, "run")];
    const argv = ["serve", "--port", "0", "--json", "--runner", "process", ...place];
    server = new CodecellProcess(launcher, argv, { cwd, env: { CODECELL_TOKEN: token, CODECELL_POLICY: "" } });
    url = await new Promise<string>((resolve, reject) => {
      server.child.stdout?.once("data", (bytes) => resolve(JSON.parse(String(bytes)).url));
      void server.finished.then((end) => reject(new Error(JSON.stringify(end))));
    });
  });
  afterAll(async () => {
    server.child.kill("SIGTERM");
    await server.finished;
    await rm(cwd, { recursive: true, force: true });
  });

  test("has examples", () => expect(examples.length).toBeGreaterThan(15));

  // in the order of the page: one may use what another made
  test.each(examples)("$command", async ({ command, output }) => {
    const env = { ...process.env, URL: url, TOKEN: token, no_proxy: "127.0.0.1" };
    const shown = await new Promise<string>((resolve) => {
      execFile("/bin/sh", ["-c", `{ ${command}\n} 2>&1`], { cwd, env }, (_error, stdout) => resolve(stdout.trimEnd()));
    });
    expect(shown).toMatch(outputPattern(output));
  });
});
