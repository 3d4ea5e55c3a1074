import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { findSrt, isAtLeast, srtVersion } from "./find-srt.ts";

let top: string;
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), "codecell-srt-"));
  await mkdir(join(top, "bin"));
  await mkdir(join(top, "srt/dist"), { recursive: true });
});
afterEach(() => rm(top, { recursive: true }));

async function program(name: string): Promise<void> {
  await writeFile(join(top, "bin", name), "");
  await chmod(join(top, "bin", name), 0o755);
}

async function installSrt(version: string, name = "@anthropic-ai/sandbox-runtime"): Promise<void> {
  await writeFile(join(top, "srt/package.json"), JSON.stringify({ name, version }));
  await writeFile(join(top, "srt/dist/cli.js"), "");
  await chmod(join(top, "srt/dist/cli.js"), 0o755);
  await symlink("../srt/dist/cli.js", join(top, "bin/srt"));
}

const found = () => findSrt(`relative:${join(top, "bin")}`, "linux");

test("findSrt says how to install srt when it is missing", async () => {
  await expect(found()).rejects.toMatchObject({
    code: "not_supported",
    hint: `npm install -g @anthropic-ai/sandbox-runtime@${srtVersion}`,
  });
});

test("findSrt refuses another program named srt", async () => {
  await installSrt("9.9.9", "subtitles");
  await expect(found()).rejects.toMatchObject({ message: expect.stringContaining("is another program") });
});

test("findSrt refuses a version older than the tested one", async () => {
  await installSrt("0.0.78");
  await expect(found()).rejects.toMatchObject({ message: expect.stringContaining("0.0.78 is too old") });
});

test("findSrt names missing programs that srt needs, and their packages", async () => {
  await installSrt(srtVersion);
  await program("socat");
  await expect(found()).rejects.toMatchObject({
    message: "srt needs bwrap, rg",
    hint: expect.stringContaining("apt install bubblewrap ripgrep"),
  });
});

test("findSrt finds the script and the files that must be readable inside srt", async () => {
  await installSrt(srtVersion);
  for (const name of ["bwrap", "socat", "rg"]) await program(name);
  const srt = await found();
  expect(srt).toMatchObject({ script: join(top, "srt/dist/cli.js"), searchPath: [join(top, "bin")] });
  expect(srt.insideFiles).toEqual(expect.arrayContaining([join(top, "srt/vendor"), join(top, "bin/socat")]));
});

test("srt versions are compared as numbers", () => {
  expect(isAtLeast("0.0.83", "0.0.83")).toBe(true);
  expect(isAtLeast("0.0.100", "0.0.83")).toBe(true);
  expect(isAtLeast("0.1.0", "0.0.83")).toBe(true);
  expect(isAtLeast("0.0.9", "0.0.83")).toBe(false);
  expect(isAtLeast("x", "0.0.83")).toBe(false);
});
