import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { access, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { startJanitor } from "./janitor.ts";

let base: string;
let tag: string;

beforeEach(async () => {
  tag = `jan${randomBytes(6).toString("hex")}`;
  base = await mkdtemp(join(tmpdir(), "janitor-test-"));
});
afterEach(() => rm(base, { recursive: true, force: true }));

describe.skipIf(process.platform !== "linux")("the janitor", () => {
  test("removes tagged processes, cgroups and directories after its host process was killed", async () => {
    const directory = join(base, `codecell-${tag}`);
    const precious = join(base, "precious");
    await mkdir(join(directory, "inner"), { recursive: true });
    await mkdir(precious);
    await writeFile(join(precious, "file"), "stays");
    await symlink(precious, join(directory, "link"));
    for (const name of [`${tag}-1`, `${tag}-t2/template`, `${tag}-t2/${tag}-3`, "another-1"])
      await mkdir(join(base, "cgroups", name), { recursive: true });

    const host = await startHost({ tag, cgroupDirs: [join(base, "cgroups")], directories: [directory] });
    onTestFinished(() => void process.kill(host.similar, "SIGKILL"));
    expect(await isAlive(host.tagged)).toBe(true);
    process.kill(host.pid, "SIGKILL");

    const soon = { timeout: 15_000, interval: 20 };
    await expect.poll(() => isAlive(host.tagged), soon).toBe(false);
    await expect.poll(() => exists(directory), soon).toBe(false);
    await expect.poll(() => isAlive(host.janitor), soon).toBe(false);
    expect(await readdir(join(base, "cgroups"))).toEqual(["another-1"]);
    expect(await readFile(join(precious, "file"), "utf8")).toBe("stays");
    expect(await isAlive(host.similar)).toBe(true);
  });

  test("removes everything and exits when it is disposed, even twice", async () => {
    const directory = join(base, `codecell-${tag}`);
    await mkdir(directory);
    const janitor = startJanitor({ tag, cgroupDirs: [], directories: [directory] });
    await janitor[Symbol.asyncDispose]();
    await janitor[Symbol.asyncDispose]();
    expect(await exists(directory)).toBe(false);
    expect(await isAlive(janitor.pid)).toBe(false);
  });

  test("removes a symlink in place of its directory, but not the target", async () => {
    const precious = join(base, "precious");
    await mkdir(join(precious, "inner"), { recursive: true });
    await symlink(precious, join(base, `codecell-${tag}`));
    await startJanitor({ tag, cgroupDirs: [], directories: [join(base, `codecell-${tag}`)] })[Symbol.asyncDispose]();
    expect(await readdir(base)).toEqual(["precious"]);
    expect(await readdir(precious)).toEqual(["inner"]);
  });

  test("does not evaluate paths as shell code", async () => {
    const directory = join(base, `a $(touch pwned) 'b" * ;${tag}`);
    await mkdir(directory);
    await mkdir(join(base, "bystander"));
    await startJanitor({ tag, cgroupDirs: [], directories: [directory] })[Symbol.asyncDispose]();
    expect(await readdir(base)).toEqual(["bystander"]);
  });

  test("rejects tags and paths that could match files of other owners", () => {
    const start = (owner: object) => () => startJanitor({ tag, cgroupDirs: [], directories: [], ...owner });
    for (const bad of ["", "abc", "a b c d e f", "abcdef;rm", "ABCDEF", "*abcdef", "abcdef\n"]) {
      expect(start({ tag: bad })).toThrow("not an owner tag");
    }
    for (const bad of ["/", "relative", `/tmp/../${tag}`, `/tmp/${tag}/`, `/tmp//${tag}`]) {
      expect(start({ directories: [bad] })).toThrow("not a plain absolute path");
    }
    expect(start({ directories: [`/tmp/${tag}/inner`] })).toThrow("not a directory of");
  });
});

/** A separate host process with a janitor, a tagged process, and a process whose argument is only similar to the tag. */
async function startHost(owner: object): Promise<{ pid: number; janitor: number; tagged: number; similar: number }> {
  const program = `
    import { spawn } from "node:child_process";
    import { startJanitor } from ${JSON.stringify(pathToFileURL(await compiled()).href)};
    const owner = JSON.parse(process.argv[1]);
    const janitor = startJanitor(owner);
    const lasting = (word) => spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", word], { detached: true, stdio: "ignore", env: {} }).pid;
    console.log(JSON.stringify({ janitor: janitor.pid, tagged: lasting(owner.tag), similar: lasting(owner.tag + "x") }));
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, JSON.stringify(owner)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = await once(createInterface({ input: child.stdout }), "line");
  return { pid: child.pid ?? 0, ...JSON.parse(String(line)) };
}

/** Compiles the janitor, because Node 20 cannot load TypeScript in the separate process. */
async function compiled(): Promise<string> {
  const root = fileURLToPath(new URL("../../../..", import.meta.url));
  const output = join(base, "dist");
  const flags = ["--module", "nodenext", "--target", "es2022", "--lib", "es2023,esnext.disposable", "--types", "node"];
  const tsc = join(root, "node_modules/.bin/tsc");
  const source = join(root, "src/runners/linux/janitor/janitor.ts");
  const settings = [
    "--ignoreConfig",
    "--rewriteRelativeImportExtensions",
    "--skipLibCheck",
    "--rootDir",
    join(root, "src"),
  ];
  await promisify(execFile)(tsc, [...flags, ...settings, "--outDir", output, source], { cwd: root });
  await writeFile(join(output, "package.json"), '{"type":"module"}');
  return join(output, "runners/linux/janitor/janitor.js");
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** A zombie that init has not reaped yet counts as dead. */
async function isAlive(pid: number): Promise<boolean> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  return status !== "" && !/^State:\s+[ZX]/m.test(status);
}
