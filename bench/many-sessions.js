import { readdir, readFile } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { row } from "./harness.js";
import { openProcess } from "./open.js";

const idleCells = 20;
const concurrent = 32;
const windowMs = 2000;

/** Measures the memory of an idle cell, and the throughput of many sessions compared with one. */
export async function manySessions() {
  const codecell = await openProcess({ proc: { cpus: 2 } });
  try {
    const first = await codecell.openSession();
    await first.run("x = 1");
    await pause(50);
    const before = await totalPss();
    const sessions = await Promise.all(Array.from({ length: idleCells }, () => codecell.openSession()));
    await Promise.all(sessions.map((session) => session.run("x = 1")));
    await pause(200);
    const each = ((await totalPss()) - before) / idleCells / 1024;
    const more = await Promise.all(Array.from({ length: concurrent - idleCells - 1 }, () => codecell.openSession()));
    const everyone = [first, ...sessions, ...more];
    const one = [];
    const many = [];
    for (let round = 0; round < 3; round++) {
      one.push(await throughput([first]));
      many.push(await throughput(everyone));
    }
    const [single, all] = [Math.max(...one), Math.max(...many)];
    return [
      row("idle cell, MB of PSS", each, { atMost: 6 }, `${idleCells} cells with a parked copy each`),
      row(
        `${concurrent} sessions / one, runs per second`,
        all / single,
        { atLeast: 1.5 },
        `${all.toFixed(0)} / ${single.toFixed(0)}`,
      ),
    ];
  } finally {
    await codecell.close();
  }
}

async function throughput(sessions) {
  const end = performance.now() + windowMs;
  const counts = await Promise.all(
    sessions.map(async (session) => {
      let count = 0;
      for (; performance.now() < end; count++) await session.run("x += 1");
      return count;
    }),
  );
  return (counts.reduce((sum, count) => sum + count, 0) / windowMs) * 1000;
}

/** Proportional memory, in KiB, of every process that descends from this one. */
async function totalPss() {
  const parents = new Map();
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, "utf8").catch(() => "");
    parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
  }
  let total = 0;
  for (const pid of parents.keys()) {
    if (!descends(pid, parents)) continue;
    const smaps = await readFile(`/proc/${pid}/smaps_rollup`, "utf8").catch(() => "");
    total += Number(/^Pss:\s+(\d+)/m.exec(smaps)?.[1] ?? 0);
  }
  return total;
}

function descends(pid, parents) {
  for (let at = parents.get(pid); at; at = parents.get(at)) if (at === process.pid) return true;
  return false;
}
