import { readdir, readFile } from "node:fs/promises";
import type { StartHostCheck } from "./host-check.ts";

/** A session that was closed has killed its processes; the OS may take a moment to remove them. */
const patienceMs = 3_000;
const pauseMs = 50;

/** Sees processes of a cell that run after its session was closed. The attack marks them with `host["mine"]`. */
export const watchProcesses: StartHostCheck =
  async ({ mine, session }) =>
  async () => {
    await session.close();
    const end = performance.now() + patienceMs;
    for (;;) {
      const pid = await processWith(mine);
      if (pid === undefined) return undefined;
      if (performance.now() > end) return `process ${pid} of the cell is running after its session was closed`;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  };

/** A process of the host with this text in its command line; only Linux shows them. */
async function processWith(text: string): Promise<string | undefined> {
  for (const pid of (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    if (command.includes(text)) return pid;
  }
  return undefined;
}
