import { execFileSync } from "node:child_process";
import { link, mkdir, mkdtemp, readFile, realpath, rm, symlink, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { bindMount, cannotMount } from "../../test/support/host-mounts.ts";
import { startSwapper } from "../../test/support/swapper.ts";
import { isThorough } from "../../test/support/thorough.ts";
import { CodecellError } from "../lib/errors.ts";
import { parsePolicy } from "../policy/file/parse-policy.ts";
import { readHostFile } from "./host-file.ts";

let base: string;
let data: string;
const maxBytes = 1000;

async function load(
  path: string,
  options: { allow?: string[]; deny?: string[]; baseDir?: string } = {},
): Promise<string> {
  const { allow = [data], deny = [], baseDir } = options;
  const policy = parsePolicy({ fs: { load: allow, deny } });
  try {
    return Buffer.from((await readHostFile(path, policy, { maxBytes, baseDir })).data).toString();
  } catch (error) {
    if (error instanceof CodecellError) return error.code;
    throw error;
  }
}

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), "codecell-load-")));
  data = join(base, "data");
  await mkdir(join(data, "sub"), { recursive: true });
  await mkdir(join(base, ".ssh"));
  await writeFile(join(data, "a.csv"), "good");
  await writeFile(join(data, "sub/b"), "below");
  await writeFile(join(base, "canary"), "CANARY");
  await writeFile(join(base, ".ssh/key"), "CANARY");
});

afterEach(() => rm(base, { recursive: true, force: true }));

describe("a host file", () => {
  test("is read if fs.load allows it: in a directory, as a file, or through a link that stays inside", async () => {
    await symlink("a.csv", join(data, "link"));
    await symlink(data, join(base, "alias"));
    expect(await load(join(data, "a.csv"))).toBe("good");
    expect(await load(join(data, "sub/b"))).toBe("below");
    expect(await load(join(data, "sub/../a.csv"))).toBe("good");
    expect(await load(join(data, "link"))).toBe("good");
    expect(await load(join(base, "alias/a.csv"))).toBe("good");
    expect(await load(join(data, "a.csv"), { allow: [join(base, "alias")] })).toBe("good");
    expect(await load(join(data, "a.csv"), { allow: [join(data, "a.csv")] })).toBe("good");
    expect(await load("a.csv", { baseDir: data })).toBe("good");
  });

  test.skipIf(cannotMount)("is refused if a bind mount shows it from a denied place", async () => {
    await mkdir(join(data, "bound"));
    await using _keys = await bindMount(join(base, ".ssh"), join(data, "bound"));
    expect(await load(join(data, "bound/key"))).toBe("file_refused");
    await mkdir(join(base, "plain"));
    await writeFile(join(base, "plain/a"), "plain");
    await mkdir(join(data, "fine"));
    await using _plain = await bindMount(join(base, "plain"), join(data, "fine"));
    expect(await load(join(data, "fine/a"))).toBe("plain");
  });

  test("is named in errors as the caller wrote it, without the directory that relative paths start from", async () => {
    await writeFile(join(data, ".env"), "");
    await writeFile(join(data, "large"), "x".repeat(maxBytes + 1));
    const policy = parsePolicy({ fs: { load: [data], deny: [`/${data}/sub`] } });
    for (const path of ["none", ".env", "large", "sub", "sub/b", "../canary", "../.ssh/key", "a.csv/x"]) {
      const error = await readHostFile(path, policy, { maxBytes, baseDir: data }).catch((thrown: unknown) => thrown);
      expect(error, path).toBeInstanceOf(CodecellError);
      const { message, hint, details } = error as CodecellError;
      expect(JSON.stringify({ message, hint, details }), path).not.toContain(base);
    }
  });

  test("that is a directory is refused with the next step, and not blamed on the policy", async () => {
    const policy = parsePolicy({ fs: { load: [data] } });
    for (const path of [data, join(data, "sub")]) {
      await expect(readHostFile(path, policy, { maxBytes })).rejects.toMatchObject({
        code: "file_refused",
        message: `${path} is a directory`,
        hint: "name a file in it",
        details: {},
      });
    }
  });

  test("is refused by default", async () => {
    expect(await load(join(data, "a.csv"), { allow: [] })).toBe("file_refused");
  });

  test("is refused outside fs.load, however its path is written", async () => {
    await symlink("../canary", join(data, "link"));
    await symlink("..", join(data, "up"));
    await mkdir(join(base, "data2"));
    await writeFile(join(base, "data2/x"), "CANARY");
    const ways = [
      ...[join(base, "canary"), join(data, "link"), join(data, "up/canary"), `${data}/../canary`, `${data}2/x`],
      ...[
        `/proc/self/root${base}/canary`,
        `/proc/self/cwd/../../../../../..${base}/canary`,
        `/proc/self/root/etc/passwd`,
      ],
      ...["/etc/passwd", "/proc/self/environ", "/sys/kernel/notes", "/dev/null", "/dev/stdin", "/"],
      ...[
        "",
        "a.csv",
        "~/x",
        `${data}/a.csv\0.png`,
        `${data}/a\n`,
        `${data}/\u001b[2J`,
        `${data}/\ud800`,
        "x".repeat(9999),
      ],
      ...[data, `${data}/sub`],
    ];
    for (const path of ways) expect([path, await load(path)]).toEqual([path, "file_refused"]);
  });

  test("is never one outside fs.load or a denied one, for any random path", async () => {
    await symlink(base, join(data, "up"));
    await symlink("../.ssh", join(data, "keys"));
    await mkdir(join(data, ".aws"));
    await writeFile(join(data, ".aws/x"), "CANARY");
    const pieces = [
      "a.csv",
      "sub",
      "sub/b",
      "up",
      "keys",
      "key",
      "canary",
      "data",
      "..",
      ".",
      ".AWS",
      ".aws",
      "x",
      ".ssh",
      "KEY",
    ];
    let state = 13;
    const random = (limit: number) => {
      state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
      return Math.floor((state / 2 ** 32) * limit);
    };
    const seen = new Set<string>();
    for (let round = 0; round < (isThorough ? 800 : 250); round++) {
      const start = ["", "/proc/self/root", "/proc/thread-self/root", "//"][random(4)];
      const parts = Array.from({ length: 1 + random(5) }, () => pieces[random(pieces.length)]);
      seen.add(await load(`${start}${data}/${parts.join("/")}`));
    }
    expect([...seen].sort()).toEqual(["below", "file_missing", "file_refused", "good"]);
  });

  test("is checked by its real path when it is reached through /proc/self/root", async () => {
    expect(await load(`/proc/self/root${data}/a.csv`)).toBe("good");
  });

  test("is refused if a deny glob matches its name or its real path, in any letter case", async () => {
    await mkdir(join(data, ".ssh"));
    for (const path of [".ssh/key", ".env", ".ENV.local", "x.Kdbx", "secret.txt"])
      await writeFile(join(data, path), "x");
    await symlink(".ssh/key", join(data, "harmless"));
    await symlink("a.csv", join(data, ".netrc"));
    const deny = ["/secret.txt"];
    for (const path of [
      ".ssh/key",
      ".env",
      ".ENV.local",
      "x.Kdbx",
      "harmless",
      ".netrc",
      "sub/../.env",
      "secret.txt",
    ]) {
      expect([path, await load(join(data, path), { deny })]).toEqual([path, "file_refused"]);
    }
    expect(await load(join(data, ".env"), { deny: ["!.env*"] })).toBe("x");
    expect(await load(join(data, "a.csv"), { deny: ["*.csv"] })).toBe("file_refused");
  });

  test("a host file with another hard link is refused, because its other names are not known", async () => {
    await link(join(base, ".ssh/key"), join(data, "innocent"));
    expect(await load(join(data, "innocent"))).toBe("file_refused");
  });

  test("a host file that does not exist is reported as missing only if that reveals nothing about the rest of the host", async () => {
    await symlink(join(base, "canary"), join(data, "to-existing"));
    await symlink(join(base, "nothing"), join(data, "to-nothing"));
    expect(await load(join(data, "no"))).toBe("file_missing");
    expect(await load(join(data, "gone"), { allow: [join(data, "gone")] })).toBe("file_missing");
    const answers = ["to-existing", "to-nothing", "to-existing/x", "../canary", "../nothing"].map(async (path) => {
      const policy = parsePolicy({ fs: { load: [data] } });
      const error = await readHostFile(`${data}/${path}`, policy, { maxBytes }).catch(
        (caught: CodecellError) => caught,
      );
      return error instanceof CodecellError ? error.message.replace(`${data}/${path}`, "") : "read";
    });
    expect(new Set(await Promise.all(answers))).toEqual(new Set([" is not in a directory of fs.load"]));
  });

  test("must be a regular file: a pipe does not hang, a directory is refused", async () => {
    execFileSync("mkfifo", [join(data, "pipe")]);
    expect(await load(join(data, "pipe"))).toBe("file_refused");
    expect(await load(join(data, "sub"))).toBe("file_refused");
  });

  test("is not read if it is over the limit", async () => {
    await truncate(join(data, "a.csv"), 2 ** 40);
    expect(await load(join(data, "a.csv"))).toBe("too_large");
    await truncate(join(data, "a.csv"), maxBytes);
    expect(await load(join(data, "a.csv"))).toHaveLength(maxBytes);
  });

  test("is refused if the entry of fs.load is a link to a system directory", async () => {
    await symlink("/etc", join(base, "settings"));
    expect(await load("/etc/passwd", { allow: [join(base, "settings")] })).toBe("file_refused");
    expect(await load(join(base, "settings/passwd"), { allow: [join(base, "settings")] })).toBe("file_refused");
  });
});

describe("a race while a host file is loaded", () => {
  async function watch(path: string) {
    const seen = { good: 0, refused: 0, naiveCanary: 0 };
    const started = performance.now();
    while (isUndecided(seen, started)) {
      const got = await load(path);
      expect(["good", "file_refused", "file_missing"]).toContain(got);
      if (got === "good") seen.good++;
      else seen.refused++;
      if ((await readFile(path, "utf8").catch(() => "")) === "CANARY") seen.naiveCanary++;
    }
    return seen;
  }

  test("a file that is swapped for a link never leaks the denied target", async () => {
    const target = join(data, "a.csv");
    const swap = `
      fs.symlinkSync(args[1], args[2] + "/l"); fs.renameSync(args[2] + "/l", args[0]);
      fs.writeFileSync(args[2] + "/f", "good"); fs.renameSync(args[2] + "/f", args[0]);`;
    await using _swapper = await startSwapper(swap, [target, join(base, ".ssh/key"), base]);
    const seen = await watch(target);
    expect(Math.min(seen.good, seen.refused, seen.naiveCanary)).toBeGreaterThan(0);
  });

  test("a directory that is swapped for a link never leaks the denied target", async () => {
    await writeFile(join(base, ".ssh/b"), "CANARY");
    await writeFile(join(data, "sub/b"), "good");
    const swap = `
      fs.renameSync("sub", "aside"); fs.symlinkSync("../.ssh", "sub"); pause();
      fs.unlinkSync("sub"); fs.renameSync("aside", "sub"); pause();`;
    await using _swapper = await startSwapper(`process.chdir(args[0]); ${swap}`, [data]);
    const seen = await watch(join(data, "sub/b"));
    expect(Math.min(seen.good, seen.refused, seen.naiveCanary)).toBeGreaterThan(0);
  });
});

/** Runs for at least 300 ms and until every outcome was seen: a race that never happened proves nothing. */
function isUndecided(seen: Record<string, number>, started: number): boolean {
  const tookMs = performance.now() - started;
  return tookMs < 300 || (tookMs < 30_000 && Object.values(seen).includes(0));
}
