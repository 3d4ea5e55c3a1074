import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { findSrtPackage, globalDirectory, srtInstallHint, srtVersion } from "./package.ts";

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

  test("finds a global installation, because npm installs no optional peer in a clone", async () => {
    const place = join(directory, "node_modules/@anthropic-ai/sandbox-runtime");
    expect(globalDirectory([join(directory, "nowhere"), directory])).toBeUndefined();
    await mkdir(place, { recursive: true });
    await writeFile(join(place, "package.json"), "{}");
    expect(globalDirectory([join(directory, "nowhere"), directory])).toBe(place);
    expect(srtInstallHint).toContain("npm install -g ");
  });

  test("says how to install a missing package", async () => {
    const answer = { missing: expect.stringContaining("not installed"), hint: expect.stringContaining(srtVersion) };
    expect(await findSrtPackage(join(directory, "nowhere"))).toMatchObject(answer);
  });
});
