import { describe, expect, test } from "vitest";
import { newStateDir, openManager, removeStateDir } from "../support/managers.ts";
import { skipsProcess } from "../support/process-cells.ts";

/** A handler that raises, at every moment of a call: the usual way to give code a time limit with SIGALRM. */
const program = `
import signal
fired = 0
def stop(*_):
    global fired
    fired += 1
    raise TimeoutError("alarm")
signal.signal(signal.SIGALRM, stop)
wrong = set()
for at in range(1500):
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0001 + 0.00003 * (at % 40))
        if (echo(at), echo(-at)) != (at, -at): wrong.add(at)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except TimeoutError as error:
        if str(error) != "alarm": wrong.add(str(error))
    except Exception as error:
        wrong.add(str(error))
signal.setitimer(signal.ITIMER_REAL, 0)
fired > 100, wrong, echo("after"), signal.pthread_sigmask(signal.SIG_BLOCK, ())`;

describe.skipIf(skipsProcess)("a program whose signal handler raises during calls to the host", () => {
  test("gets the handler's exception, and can call the host afterwards", async () => {
    const stateDir = await newStateDir();
    try {
      await using codecell = await openManager(stateDir, { proc: { timeout: "30s" } });
      const session = await codecell.session();
      await session.expose({
        echo: {
          description: "Returns its argument.",
          input: { type: "object", properties: { x: {} }, required: ["x"] },
          call: ({ x }: { x: unknown }) => x,
        },
      });
      expect(await session.run(program)).toMatchObject({ status: "ok", value: "(True, set(), 'after', set())" });
      expect((await session.run("echo('next run'), fired > 100")).value).toBe("('next run', True)");
    } finally {
      await removeStateDir(stateDir);
    }
  }, 60_000);
});
