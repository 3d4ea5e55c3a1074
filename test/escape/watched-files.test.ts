import { spawnSync } from "node:child_process";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { bothLayouts, describeAttacks, look, openCells, sharedKernelTiers } from "../support/process-cells.ts";

/** A directory that every cell sees read-only, and that other sessions and the host read. */
const shared = "/usr/bin";

/** Each returns the descriptor of a watch, or the name of the error. */
const watch = `import ctypes, errno, fcntl, os, signal
libc = ctypes.CDLL(None, use_errno=True)
def failed(): return errno.errorcode[ctypes.get_errno()]
inotify = libc.inotify_init1(os.O_NONBLOCK)
if inotify < 0: inotify = failed()
elif libc.inotify_add_watch(inotify, b"${shared}", 0x20) < 0: inotify = failed()
fanotify = libc.syscall(300 if os.uname().machine == "x86_64" else 262, 0, 0)
if fanotify < 0: fanotify = failed()
signal.signal(signal.SIGIO, lambda *_: None)
directory = os.open("${shared}", os.O_RDONLY)
try: dnotify = fcntl.fcntl(directory, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
except OSError as error: dnotify = errno.errorcode[error.errno]
print(json.dumps([inotify, fanotify, dnotify]))`;

const noticed = `
try: seen = len(os.read(inotify, 4096)) > 0
except (BlockingIOError, TypeError): seen = False
print(json.dumps(seen))`;

describeAttacks(
  bothLayouts,
  "a watch in the $name",
  (layout) => {
    let codecell: LiveSessions;
    let spy: LiveSession;
    beforeAll(async () => {
      codecell = await openCells(layout, {});
      spy = await codecell.openSession();
    });
    afterAll(() => codecell?.close());

    test("of a directory of the host is refused, so that it does not show what others do there", async () => {
      const answers = await look(spy, watch);
      await readFile(join(shared, "env"));
      expect(await look(spy, noticed)).toBe(false);
      expect(answers).toEqual(["ENOSYS", "EPERM", "EPERM"]);
    });

    test("cannot be opened at all, so that none of the user's watches is used up", async () => {
      const exhaust = `import ctypes
held = 0
while held < 200 and ctypes.CDLL(None).inotify_init1(0) >= 0: held += 1
print(json.dumps(held))`;
      expect(await look(spy, exhaust)).toBe(0);
    });

    test("as a program uses it fails in the way that makes programs poll instead", async () => {
      const follow = `import subprocess
open("/workspace/log", "w").write("first\\n")
tail = subprocess.Popen(["tail", "-n1", "-s0.05", "-f", "/workspace/log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
lines = [tail.stdout.readline()]
print("second", file=open("/workspace/log", "a"))
lines.append(tail.stdout.readline())
tail.kill()
print(json.dumps(lines))`;
      expect(await look(spy, follow)).toEqual(["first\n", "second\n"]);
    });
  },
  sharedKernelTiers,
);

describeAttacks(
  bothLayouts,
  "a lock on a file of a read-only directory, in the $name",
  (layout) => {
    test("holds against the host until the session ends, and the receipt says so", async () => {
      const directory = await mkdtemp(join(tmpdir(), "codecell-locks-"));
      try {
        await chmod(directory, 0o755);
        await writeFile(join(directory, "database"), "");
        await using codecell = await openCells(layout, { fs: { deps: directory } });
        const isFree = () => spawnSync("flock", ["--nonblock", join(directory, "database"), "true"]).status === 0;
        const session = await codecell.openSession();
        const lock = `import fcntl\nheld = open("/deps/database")\nfcntl.flock(held, fcntl.LOCK_EX)\nprint(json.dumps(1))`;
        expect(await look(session, lock)).toBe(1);
        expect(isFree()).toBe(false);
        expect(session.receipt.notes.join("\n")).toContain("a lock that code takes on a file of a read-only directory");
        await session.close();
        expect(isFree()).toBe(true);
      } finally {
        await rm(directory, { recursive: true });
      }
    });
  },
  [],
);
