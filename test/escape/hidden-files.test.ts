import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { newStateDir, removeStateDir, runIn } from "../support/managers.ts";
import { everyLayout, skipsProcess } from "../support/process-cells.ts";

const policy = { proc: { timeout: "60s", memory: "512MiB", disk: "48MiB" } } as const;

/** 160 MiB in files that are not too large each, and then time to be noticed. */
const filling = (hold: string) => `
import array, ctypes, mmap, os, socket, threading, time
held, made = [], [0]
def unnamed():
    fd = os.open("/workspace", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(fd, bytes(16 << 20))
    return fd
def deleted():
    made[0] += 1
    fd = os.open(f"file{made[0]}", os.O_CREAT | os.O_RDWR, 0o600)
    os.unlink(f"file{made[0]}")
    os.write(fd, bytes(16 << 20))
    return fd
def fill():
    for _ in range(10):
${hold.replace(/^/gm, "        ")}
    time.sleep(40)
`;

const attacks: readonly (readonly [string, string])[] = [
  ["files that never had a name", `${filling("held.append(unnamed())")}fill()`],
  ["files that are deleted while open", `${filling("held.append(deleted())")}fill()`],
  [
    "deleted files that are only mapped",
    `${filling("fd = unnamed()\nheld.append(mmap.mmap(fd, 4096))\nos.close(fd)")}
real = mmap.mmap
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
mmap.mmap = lambda fd, size: libc.mmap(None, size, 1, 1, fd, 0) # mmap of Python keeps a descriptor
fill()`,
  ],
  [
    "descriptors that wait in a socket",
    `${filling("fd = unnamed()\nsocket.send_fds(near, [b'x'], [fd])\nos.close(fd)")}
near, far = socket.socketpair()
fill()`,
  ],
  [
    "a thread with its own descriptors",
    `${filling("held.append(unnamed())")}
def apart():
    assert ctypes.CDLL(None).unshare(0x400) == 0
    fill()
thread = threading.Thread(target=apart)
thread.start()
thread.join()`,
  ],
];

for (const [at, { name, options }] of everyLayout.entries()) {
  describe.skipIf(skipsProcess)(`proc.disk in the ${name}`, () => {
    let stateDir: string;
    let codecell: Codecell;
    beforeAll(async () => {
      stateDir = await newStateDir();
      codecell = await Codecell.open({ policy, runners: [processRunner(options)], stateDir });
    });
    afterAll(async () => {
      await codecell?.[Symbol.asyncDispose]();
      await removeStateDir(stateDir);
    });

    /** Ends as crashed, and the notes name the limit. */
    async function isEnded(code: string) {
      const session = await codecell.session();
      const { status, state, notes } = await runIn(session, code);
      await session.close({ forget: true });
      expect({ status, state, notes: notes.join("\n") }).toEqual({
        status: "crashed",
        state: "lost",
        notes: expect.stringContaining("its files exceed proc.disk (48MiB)"),
      });
    }

    // what a process holds does not depend on the layout
    test.each(attacks.slice(0, at === 0 ? undefined : 1))("counts %s", async (_, code) => {
      await isEnded(code);
    });

    test.runIf(at === 0)("does not blame a cell for what other programs write to the same file system", async () => {
      const session = await codecell.session();
      const file =
        "import tempfile, threading, time\nfile = tempfile.TemporaryFile(dir='.')\nfile.write(bytes(1 << 20))";
      await runIn(session, `${file}\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start()`);
      const sleeping = runIn(session, "time.sleep(2)");
      for (let n = 0; n < 10; n++) await writeFile(join(stateDir, "other"), Buffer.alloc(16 << 20, 1), { flag: "a" });
      expect(await sleeping).toMatchObject({ status: "ok", state: "kept", notes: [] });
      await session.close({ forget: true });
    });

    test.runIf(at === 0)("notices a large file soon, although 5,000 empty files come first", async () => {
      const behind = `
import time
for n in range(5_000): open(f"empty{n}", "w").close()
time.sleep(1)
files = [open(f"large{n}", "wb", buffering=0) for n in range(2)]
for n in range(60): files[n % 2].write(bytes(1 << 20)); time.sleep(0.15)
time.sleep(40)`;
      await isEnded(behind);
    });
  });
}
