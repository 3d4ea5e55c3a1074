import { setTimeout as pause } from "node:timers/promises";
import { ms, row } from "./harness.js";
import { openProcess } from "./open.js";

const attackers = 100;
const rounds = 100;
const spacingMs = 20;

/** What hostile programs do for as long as they may. Each is stopped by a limit of its cell, and started again. */
const attacks = [
  "while True: pass",
  "while True: print('x' * 4096)",
  "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
  "held = []\nwhile True: held.append(bytearray(1 << 20))",
  "import threading\nwhile True:\n    try: threading.Thread(target=lambda: sum(range(10 ** 6))).start()\n    except RuntimeError: pass",
  "import os\nwhile True:\n    with open('/tmp/f', 'wb') as file: file.write(b'x' * (1 << 20))\n    os.remove('/tmp/f')",
  "raise ValueError('y' * 10 ** 6)",
  "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
];

/** Latency of one session, alone and while a hundred others of the same policy attack the machine. */
export async function underAttack() {
  const limits = { cpus: 0.25, memory: "64MiB", pids: 16, output: "64KiB", disk: "16MiB", timeout: "2s" };
  const codecell = await openProcess({ proc: limits, session: { limit: attackers + 10 } });
  let isOver = false;
  try {
    const calm = await codecell.openSession();
    await calm.run("x = 0");
    const alone = await latencies(calm);
    const sessions = [];
    for (let count = 0; count < attackers; count++) sessions.push(await codecell.openSession());
    const hostile = sessions.map(async (first, index) => {
      let session = first;
      while (!isOver) {
        await session.run(attacks[index % attacks.length]).catch(() => {});
        if (!session.isAlive && !isOver) session = await codecell.openSession().catch(() => session);
        await pause(10);
      }
    });
    await pause(1_000);
    const attacked = await latencies(calm);
    isOver = true;
    for (const session of sessions) void session.close().catch(() => {});
    await Promise.all(hostile);
    const compare = (part) => {
      const [slow, quick] = [at(attacked, part), at(alone, part)];
      return [slow / quick, { atMost: 5 }, `${ms(slow)} / ${ms(quick)}`];
    };
    return [
      row(`run beside ${attackers} attackers / alone, median`, ...compare(0.5)),
      row(`run beside ${attackers} attackers / alone, p95`, ...compare(0.95)),
    ];
  } finally {
    isOver = true;
    await codecell.close();
  }
}

async function latencies(session) {
  const taken = [];
  for (let round = 0; round < rounds; round++) {
    await pause(spacingMs);
    const began = performance.now();
    const { status } = await session.run("x += 1");
    if (status !== "ok") throw new Error(`the well-behaved session's run ended as ${status}`);
    taken.push(performance.now() - began);
  }
  return taken.sort((a, b) => a - b);
}

function at(sorted, part) {
  return sorted[Math.floor(sorted.length * part)];
}
