import { afterAll, beforeAll, expect, test } from "vitest";
import type { WorkspaceFiles } from "../../src/artifacts/workspace-files.ts";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { bothLayouts, describeAttacks, openCells, within } from "../support/process-cells.ts";

const [template] = bothLayouts;

/** The supervisor opens files that the program changes meanwhile, and it can read more than the program. */
describeAttacks(template ? [template] : [], "files that the supervisor serves, on $name", (layout) => {
  let cells: LiveSessions;
  let session: LiveSession;
  let files: WorkspaceFiles;
  beforeAll(async () => {
    cells = await openCells(layout, { proc: { timeout: "60s", disk: "64MiB" } });
    session = await cells.openSession();
    if (!session.files) throw new Error("the session has no files");
    files = session.files;
  });
  afterAll(() => cells?.close());

  /** Does something while a program is running that prints `ready` first. */
  const during = async <T>(code: string, act: () => Promise<T>): Promise<T> => {
    const run = session.run(`import os, sys\n${code}`);
    try {
      for await (const event of run) if (event.type === "stdout") break;
      return await act();
    } finally {
      run.interrupt();
      await run;
    }
  };

  test("a directory or file that is swapped for a symlink never shows what only the supervisor can read", async () => {
    const swapping = `
os.makedirs('dir'); open('dir/environ', 'w').write('public'); open('file', 'w').write('public')
os.symlink('/proc/1', 'trap'); os.symlink('/proc/1/environ', 'link')
print('ready', flush=True)
import time
while True:
    time.sleep(0.0005)  # leaves the supervisor time for more than the notifications
    for first, second in (('dir', 'kept'), ('trap', 'dir'), ('dir', 'trap'), ('kept', 'dir')): os.rename(first, second)
    for first, second in (('file', 'save'), ('link', 'file'), ('file', 'link'), ('save', 'file')): os.rename(first, second)`;
    const seen = await during(swapping, async () => {
      const found = new Set<string>();
      for (let round = 0; round < 80; round++) {
        for (const path of ["dir/environ", "file"]) {
          const read = await files.read(path).catch((error: { code?: string }) => error.code ?? "none");
          found.add(typeof read === "string" ? read : Buffer.from(read.data).toString());
        }
        if (round % 10 === 0)
          for (const { path } of (await files.list()).files) if (path.startsWith("trap/")) found.add(path);
      }
      return found;
    });
    for (const one of seen) expect(["public", "file_refused", "file_missing"]).toContain(one);
    expect(seen).toContain("public");
  });

  test("pipes, sockets and devices are refused at once, and no request waits for a program that hangs", async () => {
    const odd = `
import socket
os.mkfifo('pipe'); socket.socket(socket.AF_UNIX).bind('sock')
print('ready', flush=True)
while True: pass`;
    await during(odd, async () => {
      for (const path of ["pipe", "sock"])
        await expect(within(5_000, files.read(path))).rejects.toMatchObject({ code: "file_refused" });
      await within(5_000, files.write("meanwhile", Buffer.from("x"), { maxBytes: 10 }));
      const { size } = await within(5_000, files.stat("meanwhile"));
      expect(size).toBe(1);
    });
  });

  test("an upload while the program deletes its directories arrives whole or not at all", async () => {
    const deleting = `
import shutil
print('ready', flush=True)
while True:
    for name in os.listdir('.'):
        shutil.rmtree(name, ignore_errors=True)
        try: os.remove(name)
        except OSError: pass`;
    const ends = await during(deleting, async () => {
      const found: unknown[] = [];
      for (let round = 0; round < 40; round++) {
        const write = files.write("a/b/c/file", Buffer.alloc(300_000), { maxBytes: 2 ** 20 });
        found.push(
          await within(
            10_000,
            write.then(
              ({ size }) => size,
              ({ code }) => code,
            ),
          ),
        );
      }
      return new Set(found);
    });
    for (const one of ends) expect([300_000, "file_refused", "file_missing"]).toContain(one);
    const left = await session.run("import os\n[name for name in os.listdir('.') if name.endswith('.part')]");
    expect(left).toMatchObject({ status: "ok", value: "[]" });
  });

  test("a fork has the files too, after the session that it came from was closed", async () => {
    const parent = await cells.openSession();
    await parent.run("open('shared', 'w').write('both')");
    const fork = await parent.fork("fork-of-files");
    const text = async (one: LiveSession) => Buffer.from((await one.files?.read("shared"))?.data ?? "").toString();
    expect([await text(parent), await text(fork)]).toEqual(["both", "both"]);
    await parent.close();
    expect(await text(fork)).toBe("both");
    await fork.close();
  });
});
