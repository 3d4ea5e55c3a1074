import { setImmediate as turn } from "node:timers/promises";
import { queryObjects } from "node:v8";
import { describe, expect, test } from "vitest";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { Session } from "../../src/sessions/session.ts";
import { newStateDir, openManager, removeStateDir } from "../support/managers.ts";
import { bothLayouts, openCells, run, skipsProcess } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

/** The host forgets a session with the same code in both layouts. */
const layouts = isThorough ? bothLayouts : bothLayouts.slice(0, 1);

/** The number of promises in the whole process. `queryObjects` collects garbage first. */
async function promises(): Promise<number> {
  for (let count = 0; count < 5; count++) await turn();
  return queryObjects(Promise, { format: "count" });
}

async function openAndClose(codecell: LiveSessions, times: number): Promise<void> {
  for (let count = 0; count < times; count++) {
    const session = await codecell.openSession();
    await run(session, "1");
    await session.close();
  }
}

// A release asks it (docs/adr/0055), as all that measures growth over many rounds.
describe.skipIf(skipsProcess || !isThorough)("a host that opens and closes sessions", () => {
  test.each(layouts)("keeps no memory of closed sessions ($name)", async (layout) => {
    await using codecell = await openCells(layout);
    await openAndClose(codecell, 5);
    const before = await promises();
    await openAndClose(codecell, 20);
    await expect.poll(async () => (await promises()) - before).toBeLessThan(20);
  });

  test("keeps no memory of closed forks while the cell lives on in their parent", async () => {
    const stateDir = await newStateDir();
    {
      await using manager = await openManager(stateDir);
      const parent = await manager.session();
      for (let count = 0; count < 5; count++) await manager.closeSession((await manager.fork(parent.id)).id);
      const sessions = async () => {
        await promises();
        return queryObjects(Session, { format: "count" });
      };
      await expect.poll(sessions).toBeLessThan(4); // the prototype, the parent and the last
    }
    await removeStateDir(stateDir);
  });
});
