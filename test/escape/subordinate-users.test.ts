import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { launcher } from "../e2e/codecell-process.ts";
import { findProgram } from "../support/find-program.ts";
import { skipsProcess } from "../support/process-cells.ts";

const user = 54_400;
const asUser = `set -e
for name in passwd subuid subgid; do mount --bind "$1/$name" "/etc/$name"; done
shift
exec setpriv --reuid ${user} --regid ${user} --clear-groups -- "$@"`;
const withUsers = ["unshare", "--user", "--map-root-user", "--map-auto"];

/** Leaves descriptors in the queues of sockets, as many as a user may have, and keeps them there. */
const fillQueues = `import os, socket, time
held = []
try:
    for _ in range(8):
        held.append(socket.socketpair())
        socket.send_fds(held[-1][0], [b"x"], [os.open("/dev/null", os.O_RDONLY)] * 250)
except OSError:
    pass
print("full", flush=True)
time.sleep(60)`;

const passOne = `import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
ours, theirs = socket.socketpair()
try:
    socket.send_fds(ours, [b"x"], [0])
    print("passed")
except OSError as error:
    print("refused", error.errno)`;

let directory: string;
// its other state is in .local/state, which is closed to the uids of cells if somebody else has made it
const environment = () => {
  const home = join(directory, "home");
  return { PATH: "/usr/bin:/bin", HOME: home, XDG_STATE_HOME: home };
};
const argumentsOf = (command: readonly string[]) => ["--mount", "sh", "-c", asUser, "sh", directory, ...command];
const codecell = (...argv: string[]) => [process.execPath, launcher, "run", "--runner", "process", ...argv];
const run = promisify(execFile);

/** What this user's own program prints, or a codecell of this user. */
async function output(...command: string[]): Promise<string> {
  const options = { env: environment(), cwd: "/", timeout: 60_000 };
  return (await run("unshare", argumentsOf(command), options)).stdout;
}

/** Whether a user of this machine, who is not root, can start codecell and has subordinate uids. */
function isImpossible(): boolean {
  const needed = ["unshare", "setpriv", "newuidmap", "newgidmap"];
  if (skipsProcess || process.getuid?.() !== 0 || needed.some((name) => findProgram(name) === undefined)) return true;
  try {
    const words = ["--reuid", String(user), "--regid", String(user), "--clear-groups", "--", process.execPath];
    execFileSync("setpriv", [...words, launcher, "--version"], { stdio: "ignore", cwd: "/", env: {} });
    return !execFileSync("unshare", ["--help"], { encoding: "utf8" }).includes("--map-auto");
  } catch {
    return true;
  }
}

describe.skipIf(isImpossible())("codecell of an ordinary user with subordinate uids", () => {
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "cc-users-"));
    await chmod(directory, 0o755);
    await copyFile("/etc/passwd", join(directory, "passwd"));
    const home = join(directory, "home");
    await writeFile(join(directory, "passwd"), `tester:x:${user}:${user}::${home}:/bin/sh\n`, { flag: "a" });
    for (const name of ["subuid", "subgid"]) await writeFile(join(directory, name), "tester:600000000:65536\n");
    for (const path of [home, join(home, "ws")]) {
      await mkdir(path, { mode: 0o711 });
      await chown(path, user, user);
    }
  });
  afterAll(async () => {
    await rm(directory, { recursive: true, force: true });
    await rm(`/tmp/codecell-${user}`, { recursive: true, force: true });
    await rm(`/tmp/codecell-users-${user}`, { recursive: true, force: true });
  });

  test.each([
    ["as the user alone, takes descriptors in flight away from the user's programs", [], "refused 109\n"],
    ["with uids of their own, leaves them to the user's programs", withUsers, "passed\n"],
  ])("a cell %s", async (_, prefix, expected) => {
    const command = [...prefix, ...codecell("-c", fillQueues)];
    const child = spawn("unshare", argumentsOf(command), { env: environment(), cwd: "/" });
    const exited = once(child, "exit");
    try {
      await once(child.stdout, "data");
      expect(await output("/usr/bin/python3", "-I", "-c", passOne)).toBe(expected);
    } finally {
      child.kill("SIGTERM");
      await exited;
    }
  });

  test("keeps a session's files, whose owners are its cells, and the receipt names nobody who shares limits", async () => {
    const hidden = "import os; open('kept.txt', 'w').write('42'); os.chmod('kept.txt', 0o600)";
    await output(...withUsers, ...codecell("--session", "own", "-c", hidden));
    const again = await output(
      ...withUsers,
      ...codecell("--session", "own", "--json", "-c", "print(open('kept.txt').read())"),
    );
    expect(JSON.parse(again)).toMatchObject({ status: "ok", stdout: "42\n" });
    expect(again).not.toContain("counts per user");
  });

  test("says where the user's own directories cannot be written", async () => {
    const refused = output(...withUsers, ...codecell("--workspace", join(directory, "home", "ws"), "-c", "1"));
    await expect(refused).rejects.toThrow("cells here have uids of their own");
  });
});
