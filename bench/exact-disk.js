import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parsePolicy } from "../dist/index.js";
import { tryImages } from "../dist/runners/linux/disk/image/image-support.js";
import { processRunner } from "../dist/runners/process/runner.js";
import { median, ms, row, timed } from "./harness.js";
import { withSessions } from "./with-sessions.js";

const rounds = 30;
/** Sessions follow each other slowly enough for the next disk to be prepared. */
const pauseMs = 250;

/** Compares the start of a next session on a disk of its own with the start in a directory, in turn. */
export async function exactDisk() {
  const trial = await mkdtemp(join(tmpdir(), "codecell-disk-"));
  const support = await tryImages(trial);
  await rm(trial, { recursive: true });
  if (!support.isAvailable) return [row("start on a disk of its own / in a directory", 0, {}, support.reason)];
  const open = (exact, work) =>
    withSessions({ policy: parsePolicy({ proc: { exactDisk: exact } }), runners: [processRunner()] }, work);
  return open(false, (plain) =>
    open(true, async (exact) => {
      const [started, ended] = [new Map(), new Map()];
      for (let round = 0; round < rounds + 2; round++) {
        for (const manager of round % 2 ? [plain, exact] : [exact, plain]) {
          await pause(pauseMs);
          let session;
          const startMs = await timed(async () => {
            session = await manager.session();
            await session.run("x = 1");
          });
          const endMs = await timed(() => manager.closeSession(session.id, { forget: true }));
          if (round < 2) continue; // templates and the first disk
          started.set(manager, [...(started.get(manager) ?? []), startMs]);
          ended.set(manager, [...(ended.get(manager) ?? []), endMs]);
        }
      }
      const ratio = (times) => {
        const [a, b] = [median(times.get(exact)), median(times.get(plain))];
        return [a / b, `${ms(a)} / ${ms(b)}`];
      };
      const [start, startDetail] = ratio(started);
      const [end, endDetail] = ratio(ended);
      return [
        row("start on a disk of its own / in a directory", start, { atMost: 1.3 }, startDetail),
        row("end on a disk of its own / in a directory", end, {}, endDetail),
      ];
    }),
  );
}
