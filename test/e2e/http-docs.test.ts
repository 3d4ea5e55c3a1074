import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { examplesOf, outputPattern } from "../support/doc-examples.ts";
import { readersShell } from "../support/walkthroughs.ts";
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
    const env = { ...process.env, URL: url, CODECELL_TOKEN: token, no_proxy: "127.0.0.1" };
    const shown = await new Promise<string>((resolve) => {
      execFile("/bin/sh", ["-c", `{ ${command}\n} 2>&1`], { cwd: directory.path, env }, (_error, stdout) =>
        resolve(stdout.trimEnd()),
      );
    });
    expect(shown).toMatch(outputPattern(output));
  });
});

test.skipIf(!hasCurl)("the HTTP block of the README prints both answers when it is pasted", async () => {
  const readme = await readFile(join(root, "README.md"), "utf8");
  const [, block = ""] = /^## HTTP\n\n```bash\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  const port = await freePort();
  const script = block.replaceAll("7410", `${port}`).replace("codecell serve", `codecell serve --port ${port}`);
  await using shell = await readersShell({ no_proxy: "127.0.0.1", XDG_RUNTIME_DIR: "" });
  const printed = await shell.paste(`trap 'kill $!; wait $!' EXIT TERM\n${script}`);
  expect(printed).toContain('{"session_id":"work","state":"live",');
  expect(printed).toContain('"status":"ok","state":"kept","exit_code":0,"value":"42"');
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
