import { execFile } from "node:child_process";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, describe, expect, test } from "vitest";
import { availableRunners, CodecellProcess, codecell, launcher, root } from "./codecell-process.ts";

const hasProcess = (await availableRunners()).includes("process");
const home = await mkdtemp(join(tmpdir(), "cc-closed-"));
await chmod(home, 0o711); // as root, cells run as other users
afterAll(() => rm(home, { recursive: true, force: true }));
const env = { XDG_STATE_HOME: home };
const waits = "print('going', flush=True)\nimport time\ntime.sleep(30)";

/** Closes the terminal of a command once it has printed and got what `steps` say. */
async function closedTerminal(argv: readonly string[], steps: readonly (readonly [awaited: string, typed: string])[]) {
  const program = [
    join(root, "test/e2e/closed-terminal.py"),
    JSON.stringify(steps),
    process.execPath,
    launcher,
    ...argv,
  ];
  const all = { ...process.env, ...env, TERM: "xterm" };
  const { stdout } = await promisify(execFile)("python3", program, { env: all, timeout: 60_000 });
  return JSON.parse(stdout) as { signal: number; code: number };
}

const valueIn = async (session: string) => (await codecell(["run", "--session", session, "-c", "x"], { env })).stdout;
const run = (session: string, code: string) => ["run", "--runner", "process", "--session", session, "-c", code];

// pseudo-terminals need the same Python as the process runner
describe.skipIf(!hasProcess)("a terminal that is closed", () => {
  test("while a program runs in a session ends it, and the session is saved", async () => {
    const ended = await closedTerminal(run("closed-run", `x = 'kept'\n${waits}`), [["going", ""]]);
    expect(ended).toEqual({ signal: 0, code: 129 });
    expect(await valueIn("closed-run")).toBe("'kept'\n");
  });

  test("while the repl waits for a line ends it, and the session is saved", async () => {
    const repl = ["repl", "--runner", "process", "--session", "closed-repl"];
    const { signal, code } = await closedTerminal(repl, [
      [">>> ", "x = 'kept'\r"],
      [">>> ", ""],
    ]);
    expect(signal).toBe(0);
    expect([74, 129]).toContain(code); // which of the two is first: a failed write, or the signal
    expect(await valueIn("closed-repl")).toBe("'kept'\n");
  });
});

describe.skipIf(!hasProcess)("a program in a session", () => {
  test.each(["SIGTERM", "SIGHUP"] as const)(
    "that %s ends is saved, and nothing says that it is lost",
    async (signal) => {
      const one = new CodecellProcess(launcher, run(`ended-${signal}`, `x = 'kept'\n${waits}`), { env });
      await one.printed("going");
      process.kill(one.pid, signal);
      expect(await one.finished).toMatchObject({ stderr: "codecell: the run was interrupted\n" });
      expect(await valueIn(`ended-${signal}`)).toBe("'kept'\n");
    },
  );

  test("whose pipe is closed is saved", async () => {
    const one = new CodecellProcess(launcher, run("piped", "x = 'kept'\nwhile True: print('going', flush=True)"), {
      env,
    });
    await one.printed("going");
    one.child.stdout?.destroy();
    expect((await one.finished).code).toBe(141);
    expect(await valueIn("piped")).toBe("'kept'\n");
  });
});
