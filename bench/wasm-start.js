import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parsePolicy } from "../dist/index.js";
import { wasmRunner } from "../dist/runners/wasm/runner.js";
import { LiveSessions } from "../dist/sessions/live-sessions.js";
import { interleave, ms, row, timed } from "./harness.js";

/** Compares the first result of the WASM runner with and without its memory snapshot. */
export async function wasmStart() {
  const directory = await mkdtemp(join(tmpdir(), "codecell-bench-"));
  await chmod(directory, 0o755); // if we are root, the cell runs as another user
  const open = (options) =>
    LiveSessions.open({ policy: parsePolicy({}), runners: [wasmRunner({ runtimeDir: directory, ...options })] });
  const warm = await open({});
  const plain = await open({ snapshot: "off" });
  const first = (codecell) => async () => {
    const session = await codecell.openSession();
    const result = await session.run("print(1)");
    if (result.status !== "ok") throw new Error(result.error?.traceback ?? result.status);
    return () => session.close();
  };
  const measured = (work) => async () => {
    let close;
    const time = await timed(async () => {
      close = await work();
    });
    await close();
    return time;
  };
  try {
    await measured(first(warm))(); // creates the snapshot
    const figures = await interleave({ snapshot: measured(first(warm)), plain: measured(first(plain)) }, 4);
    const figure = figures.snapshot / figures.plain;
    return [
      row(
        "WASM start, with snapshot / without",
        figure,
        { atMost: 1 / 3 },
        `${ms(figures.snapshot)} / ${ms(figures.plain)}`,
      ),
    ];
  } finally {
    await Promise.all([warm.close(), plain.close()]);
    await rm(directory, { recursive: true, force: true });
  }
}
