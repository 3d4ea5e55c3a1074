import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type FakeOptions, FakeRunner } from "../../../../test/fakes/fake-runner.ts";
import { FakeTerminal, type FakeTerminalOptions } from "../../../../test/fakes/fake-terminal.ts";
import { smallPng } from "../../../../test/fakes/small-png.ts";
import { noSmallDisk, smallDisk } from "../../../../test/support/small-disk.ts";
import { main } from "../main.ts";

let cwd = "";
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "codecell-plots-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

type Display = readonly [mime: string, data: string | Uint8Array];

interface RunOptions extends FakeTerminalOptions {
  /** what another program of the same user does while this one runs */
  readonly meanwhile?: () => void;
}

async function run(displays: readonly Display[], argv: string[] = [], options: RunOptions = {}) {
  const program: FakeOptions["program"] = (cell) => {
    options.meanwhile?.();
    for (const [mime, data] of displays) cell.display(mime, Buffer.from(data));
    return {};
  };
  const env = { XDG_STATE_HOME: join(cwd, "state"), ...options.env };
  const terminal = new FakeTerminal({ cwd, ...options, env });
  const code = await main(["run", "-c", "x", ...argv], { terminal, runners: () => [new FakeRunner({ program })] });
  return { code, stdout: terminal.stdout.text, stderr: terminal.stderr.text };
}

const png: Display = ["image/png", smallPng()];
const html: Display = ["text/html", "<b>1</b>"];

test("run --plots saves every display under a number, and prints the paths as they were typed", async () => {
  const { code, stdout, stderr } = await run([png, html, ["application/json", "{}"]], ["--plots", "out/today"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
  expect(stderr).toMatch(/^codecell: saved out\/today\/plot-1\.png \(image\/png, 6\d B\)\n/);
  expect(stderr).toContain("saved out/today/plot-2.html (text/html, 8 B)\n");
  expect(readdirSync(join(cwd, "out/today")).sort()).toEqual(["plot-1.png", "plot-2.html", "plot-3.json"]);
  expect(readFileSync(join(cwd, "out/today/plot-1.png"))).toEqual(smallPng());
});

test("run without --plots saves pictures in the state directory, and says so", async () => {
  const { stderr } = await run([png, html]);
  const [, path = ""] = /saved (\S+\/state\/codecell\/plots\/\d{8}-\d{6}\/plot-1\.png) /.exec(stderr) ?? [];
  expect(readFileSync(path)).toEqual(smallPng());
  expect(stderr).toContain("not saved: text/html, 8 B; --plots DIR saves it");
  expect(readdirSync(cwd)).toEqual(["state"]);
});

test("run without --plots keeps the plots of the last 20 runs, and no other file there is removed", async () => {
  const root = join(cwd, "state", "codecell", "plots");
  const old = Array.from({ length: 25 }, (_, index) => `20200101-1200${10 + index}`);
  for (const name of [...old, "mine"]) mkdirSync(join(root, name), { recursive: true });
  await run([png]);
  const names = readdirSync(root);
  expect(names).toHaveLength(21);
  expect(names).toContain("mine");
  expect(names).not.toContain(old[5]);
  expect(names).toContain(old[6]);
});

test("a program that displays nothing creates no directory by default", async () => {
  await run([["text/plain", "x"]]);
  expect(statSync(join(cwd, "state", "codecell", "plots"), { throwIfNoEntry: false })).toBeUndefined();
});

test("run --plots never overwrites a file and never follows a link that is already there", async () => {
  const victim = join(cwd, "victim");
  mkdirSync(join(cwd, "out"));
  writeFileSync(victim, "mine");
  writeFileSync(join(cwd, "out", "plot-1.png"), "old");
  writeFileSync(join(cwd, "out", "plot-7.csv"), "old");
  symlinkSync(victim, join(cwd, "out", "plot-8.png"));
  await run([png], ["--plots", "out"]);
  expect(readFileSync(victim, "utf8")).toBe("mine");
  expect(readFileSync(join(cwd, "out", "plot-1.png"), "utf8")).toBe("old");
  expect(readFileSync(join(cwd, "out", "plot-9.png"))).toEqual(smallPng());
});

test("run --plots refuses a symbolic link, a file and a name that nothing can be created under, before the program runs", async () => {
  mkdirSync(join(cwd, "real"));
  symlinkSync("real", join(cwd, "link"));
  writeFileSync(join(cwd, "file"), "");
  const link = await run([png], ["--plots", "link"]);
  expect(link).toMatchObject({ code: 2, stderr: expect.stringContaining('--plots "link" is a symbolic link') });
  expect(link.stderr).toContain(join(cwd, "real"));
  expect(await run([png], ["--plots", "file"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("not a directory"),
  });
  expect(await run([png], ["--plots", "/proc/none"])).toMatchObject({ code: 2 });
  expect(readdirSync(join(cwd, "real"))).toEqual([]);
});

test("a link that appears during the run under the next name is not followed", async () => {
  writeFileSync(join(cwd, "victim"), "mine");
  const meanwhile = () => symlinkSync("../victim", join(cwd, "out", "plot-1.png"));
  await run([png], ["--plots", "out"], { meanwhile });
  expect(readFileSync(join(cwd, "victim"), "utf8")).toBe("mine");
  expect(readFileSync(join(cwd, "out", "plot-2.png"))).toEqual(smallPng());
});

test.skipIf(process.platform !== "linux")(
  "a directory that is replaced by a link during the run does not redirect what is saved",
  async () => {
    mkdirSync(join(cwd, "victim"));
    const meanwhile = () => {
      renameSync(join(cwd, "out"), join(cwd, "moved"));
      symlinkSync("victim", join(cwd, "out"));
    };
    await run([png], ["--plots", "out"], { meanwhile });
    expect(readdirSync(join(cwd, "victim"))).toEqual([]);
    expect(readdirSync(join(cwd, "moved"))).toEqual(["plot-1.png"]);
  },
);

test("a display's type never becomes a part of a file name or of the terminal's control sequences", async () => {
  const types = ["image/../../evil", "image/png\u001b]52;c;eA==\u0007", "text/html\ncodecell: forged"];
  const { stderr } = await run(
    types.map((type) => [type, "x"] as const),
    ["--plots", "out"],
  );
  expect(readdirSync(join(cwd, "out"))).toEqual([]);
  expect(stderr).not.toContain("\u001b");
  expect(stderr.split("\n").filter((line) => line.startsWith("codecell: forged"))).toEqual([]);
  expect(stderr).toContain("codecell has no kind of file for it");
});

test("what only claims to be a picture is neither saved nor shown", async () => {
  const fakes: Display[] = [
    ["image/png", "<script>"],
    ["image/jpeg", "#!/bin/sh"],
    ["image/webp", "RIFF"],
    ["image/svg+xml", "alert(1)"],
  ];
  const { stdout, stderr } = await run(fakes, ["--plots", "out", "--images", "kitty"], { isTTY: true });
  expect(readdirSync(join(cwd, "out"))).toEqual([]);
  expect(stdout).toBe("");
  expect(stderr.match(/the content is of another type/g)).toHaveLength(4);
});

test("ten thousand displays are limited to 500 files, 20 pictures in the terminal and a few lines", async () => {
  const many = Array.from({ length: 10_000 }, () => png);
  const { code, stdout, stderr } = await run(many, ["--plots", "out", "--images", "iterm2"], { isTTY: true });
  expect(code).toBe(0);
  expect(readdirSync(join(cwd, "out"))).toHaveLength(500);
  expect(stdout.match(/1337;File=/g)).toHaveLength(20);
  expect(stderr.split("\n").length).toBeLessThan(30);
  expect(stderr).toContain("9500 displays were not saved: a run saves at most 500 files");
});

test("run --json has the path of each display, and says which was not saved", async () => {
  const { stdout } = await run([png, html, ["image/png", "fake"]], ["--plots", "out", "--json"]);
  const { displays, notes } = JSON.parse(stdout);
  const paths = displays.map(({ path }: { path: string }) => path);
  expect(paths).toEqual([join(cwd, "out/plot-1.png"), join(cwd, "out/plot-2.html"), null]);
  expect(notes).toEqual(["not saved: image/png, 4 B: the content is of another type"]);
});

test("run --images refuses an unknown value, and a pipe gets no pictures", async () => {
  const wrong = await run([], ["--images", "vga"]);
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining("auto, kitty, iterm2, sixel, none") });
  expect(await run([png], ["--images", "kitty"])).toMatchObject({ stdout: "" });
});

test.skipIf(noSmallDisk !== undefined)("a full disk leaves no partial file, and the exit code says so", async () => {
  await using disk = await smallDisk("64k");
  const large: Display = ["image/png", smallPng({ bytes: 200_000 })];
  const { code, stderr } = await run([png, large, png], ["--plots", disk.path]);
  expect(code).toBe(74);
  expect(stderr).toContain("2 displays were not saved: ");
  expect(stderr).toContain("no space left");
  expect(readdirSync(disk.path)).toEqual(["plot-1.png"]);
});
