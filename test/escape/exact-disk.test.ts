import { lstat, readdir, realpath } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { Codecell } from "../../src/sessions/codecell.ts";
import { mountsBelow, noExactDisk, withExactDisk } from "../support/exact-disk.ts";
import { newStateDir, removeStateDir, runIn } from "../support/managers.ts";
import { bothLayouts, skipsProcess } from "../support/process-cells.ts";

const limit = 16 * 2 ** 20;
const policy = { proc: { timeout: "60s", disk: "16MiB", exactDisk: true } } as const;

/** Stores as much as it can with `put`, which answers with the bytes that one call stored. */
const storing = (put: string) => `
import array, ctypes, mmap, os, socket
held, stored, failed = [], 0, None
near, far = socket.socketpair()
def unnamed(): return os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
def put(n):
${put.replace(/^/gm, "    ")}
try:
    for n in range(10_000): stored += put(n)
except OSError as error: failed = error.errno
print(stored, failed)
`;
const piece = "bytes(1 << 18)";

const attacks: readonly (readonly [string, string])[] = [
  [
    "one large file",
    `held or held.append(os.open("large", os.O_CREAT | os.O_RDWR))\nreturn os.write(held[0], ${piece})`,
  ],
  ["many files", `with open(f"file{n}", "wb", buffering=0) as file: return file.write(${piece})`],
  ["files that never had a name", `held.append(unnamed())\nreturn os.write(held[-1], ${piece})`],
  [
    "files that are deleted while open",
    `held.append(os.open(f"gone{n}", os.O_CREAT | os.O_RDWR))\nos.unlink(f"gone{n}")\nreturn os.write(held[-1], ${piece})`,
  ],
  [
    "descriptors that wait in a socket",
    `file = unnamed()\nsize = os.write(file, ${piece})\nsocket.send_fds(near, [b"x"], [file])\nos.close(file)\nreturn size`,
  ],
  ["reserved space", "held.append(unnamed())\nos.posix_fallocate(held[-1], 0, 1 << 18)\nreturn 1 << 18"],
  [
    "holes that are filled",
    `if not held: held.append(unnamed()); os.truncate(held[0], ${limit} * 2)\nreturn os.pwrite(held[0], ${piece}, n << 18)`,
  ],
];

for (const [at, { name, options }] of bothLayouts.entries()) {
  describe.skipIf(skipsProcess || noExactDisk)(withExactDisk(`proc.exactDisk in the ${name}`), () => {
    let stateDir: string;
    let codecell: Codecell;
    beforeAll(async () => {
      stateDir = await newStateDir();
      codecell = await Codecell.open({ policy, runners: [processRunner(options)], stateDir });
    });
    afterAll(async () => {
      await codecell?.[Symbol.asyncDispose]();
      expect(await mountsBelow(stateDir)).toEqual([]);
      expect(await readdir(join(stateDir, "workspaces.disks"))).toEqual([]);
      await removeStateDir(stateDir);
    });

    // which files count is decided by the Linux kernel, and does not depend on the layout
    test.each(attacks.slice(at === 0 ? 0 : -2))(
      "%s end with ENOSPC at the limit, and the session goes on",
      async (_, put) => {
        const session = await codecell.session();
        const result = await runIn(session, storing(put));
        const [stored, failed] = result.stdout.split(" ").map(Number);
        expect({ status: result.status, failed, notes: result.notes }).toEqual({ status: "ok", failed: 28, notes: [] });
        expect(stored).toBeLessThanOrEqual(limit);
        expect(stored).toBeGreaterThan(limit * 0.95);
        expect(
          (
            await runIn(
              session,
              "for file in held: os.close(file)\nfar.close()\nfor one in os.listdir(): os.remove(one)",
            )
          ).status,
        ).toBe("ok");
        expect((await runIn(session, "open('after', 'w').write('x')")).artifacts).toMatchObject([{ name: "after" }]);
        await session.close({ forget: true });
      },
    );

    test.runIf(at === 0)(
      "ten thousand empty files end with ENOSPC too, and two gigabytes after them do not fit",
      async () => {
        const session = await codecell.session();
        const code = `
import os
made, stored = 0, 0
try:
    while made < 10_000: os.close(os.open(f"empty{made}", os.O_CREAT)); made += 1
except OSError as error: print(error.errno)
file = os.open("empty0", os.O_WRONLY)
try:
    while stored < 2 << 30: stored += os.write(file, bytes(1 << 20))
except OSError as error: print(error.errno, made, stored)`;
        const { status, stdout } = await runIn(session, code);
        const [first, second, made, stored] = stdout.split(/\s/).map(Number);
        expect([status, first, second]).toEqual(["ok", 28, 28]);
        expect(made).toBeLessThanOrEqual(1024);
        expect(stored).toBeLessThanOrEqual(limit);
        const image = `${await realpath(join(stateDir, "workspaces", (await readdir(join(stateDir, "workspaces")))[0] ?? ""))}.img`;
        expect((await lstat(image)).blocks * 512).toBeLessThan(limit + 2 * 2 ** 20);
        await session.close({ forget: true });
      },
    );

    test.runIf(at === 0)(
      "a program that ends without handling ENOSPC fails like any other, and keeps its variables",
      async () => {
        const session = await codecell.session();
        await runIn(session, "x = 41");
        const result = await runIn(
          session,
          "with open('large', 'wb') as file:\n    while True: file.write(bytes(1 << 20))",
        );
        expect(result).toMatchObject({ status: "error", state: "kept", error: { name: "OSError" } });
        expect(result.error?.message).toContain("[Errno 28]");
        // nothing of codecell needs space there: checkpoints, output, forks and what the host uploads is refused in time
        await session.checkpoint("full");
        await expect(session.upload("more", Buffer.alloc(4096))).rejects.toMatchObject({ code: "too_large" });
        await using fork = await session.fork();
        expect((await runIn(fork, "print('o' * 100_000); x + 1")).value).toBe("42");
        await session.close({ forget: true });
      },
    );

    test.runIf(at === 0)(
      "a write through a memory map beyond the limit ends the interpreter, and not the session",
      async () => {
        const session = await codecell.session();
        await runIn(session, "x = 41");
        const code = `import mmap, os
files = [os.open(".", os.O_TMPFILE | os.O_RDWR) for _ in range(3)]
for file in files:
    os.truncate(file, ${limit / 2})
    memory = mmap.mmap(file, ${limit / 2})
    for at in range(0, len(memory), 4096): memory[at] = 1`;
        const { status } = await runIn(session, code);
        expect(status).toBe("crashed");
        expect((await runIn(session, "open('after', 'w').write('x')")).status).toBe("ok");
        await session.close({ forget: true });
      },
    );
  });
}
