import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findSrtPackage, installHint, srtInstallHint, srtVersion } from "./package.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "codecell-srt-package-"));
});
afterEach(() => rm(directory, { recursive: true }));
const install = (version: string) =>
  writeFile(join(directory, "package.json"), JSON.stringify({ version, main: "./dist/index.js" }));

describe("findSrtPackage", () => {
  test("finds the version that this runner needs", async () => {
    await install(srtVersion);
    const entryUrl = `file://${directory}/dist/index.js`;
    expect(await findSrtPackage(directory)).toMatchObject({ directory, entryUrl });
  });

  test("rejects another version, with the command that installs the right one", async () => {
    await install("0.0.78");
    const answer = { missing: expect.stringContaining("0.0.78"), hint: srtInstallHint };
    expect(await findSrtPackage(directory)).toMatchObject(answer);
  });

  test("says how to install a missing package", async () => {
    const answer = { missing: expect.stringContaining("not installed"), hint: expect.stringContaining(srtVersion) };
    expect(await findSrtPackage(join(directory, "nowhere"))).toMatchObject(answer);
  });
});

test.each([
  ["/home/me/codecell/dist/runners/srt/package.js", "npm install --prefix /home/me/codecell --no-save --save-dev"],
  ["/home/me/codecell/src/runners/srt/package.ts", "npm install --prefix /home/me/codecell --no-save --save-dev"],
  ["/home/me/app/node_modules/codecell/dist/runners/srt/package.js", "npm install"],
  ["/usr/local/lib/node_modules/codecell/dist/runners/srt/package.js", "npm install -g"],
])("the command that installs the package for codecell in %s is %s", (file, command) => {
  expect(installHint(file)).toBe(`${command} @anthropic-ai/sandbox-runtime@${srtVersion}`);
});
