import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { processRunner } from "../../src/runners/process/runner.ts";
import { wasmRunner } from "../../src/runners/wasm/runner.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import type { Session } from "../../src/sessions/session.ts";
import { newStateDir, openManager, removeStateDir } from "../support/managers.ts";
import { skipsProcess, within } from "../support/process-cells.ts";
import { type Dice, dice } from "../support/seeded-dice.ts";
import { isThorough } from "../support/thorough.ts";

/** `STORM_ROUNDS=10000 npx vitest run test/fault/storm.test.ts` is the long form. */
const longRounds = process.env.STORM_ROUNDS === undefined ? undefined : Number(process.env.STORM_ROUNDS);
const seed = Number(process.env.STORM_SEED ?? 17);

const stubborn = "while True:\n    try: time.sleep(1)\n    except BaseException: pass";
const programs = {
  "ends at once": "",
  sleeps: "time.sleep(0.03)",
  computes: "while True: pass",
  "ignores interrupts": stubborn,
  prints: "while True: print('x' * 1000)",
  "waits for a child": "import subprocess; subprocess.run(['sleep', '5'])",
};
type ProgramName = keyof typeof programs;
const names = Object.keys(programs) as ProgramName[];
const stops = ["abort", "timeout", "interrupt", "interrupt twice", "abort before the start"] as const;
type Stop = (typeof stops)[number] | "none";

interface Round {
  readonly number: number;
  readonly program: ProgramName;
  readonly stop: Stop;
  readonly afterMs: number;
}

/** A stubborn program is stopped twice, or its grace period would be most of the test. */
function nextRound(number: number, chosen: readonly ProgramName[], { pick, below }: Dice): Round {
  const program = pick(chosen);
  const ends = program === "ends at once" || program === "sleeps";
  const stop = program === "ignores interrupts" ? "interrupt twice" : ends && below(3) === 0 ? "none" : pick(stops);
  return { number, program, stop, afterMs: below(40) };
}

async function perform(session: Session, { number, program, stop, afterMs }: Round): Promise<RunResult> {
  const aborter = new AbortController();
  if (stop === "abort before the start") aborter.abort();
  const run = session.run(`import time; n = ${number}\n${programs[program]}`, {
    signal: aborter.signal,
    ...(stop === "timeout" ? { timeout: Math.max(1, afterMs) } : {}),
  });
  const later = setTimeout(() => {
    if (stop === "abort") aborter.abort();
    if (stop.startsWith("interrupt")) run.interrupt();
    if (stop === "interrupt twice") setTimeout(() => run.interrupt(), 1);
  }, afterMs);
  try {
    return await within(30_000, run);
  } finally {
    clearTimeout(later);
  }
}

/** One that ends by itself may end before it is stopped. */
function mayEnd({ program, stop }: Round): readonly string[] {
  const stopped = {
    none: [],
    abort: ["cancelled"],
    "abort before the start": ["cancelled"],
    timeout: ["timeout"],
    interrupt: ["interrupted", "cancelled"], // cancelled: it had not started yet
    "interrupt twice": ["interrupted", "cancelled"],
  }[stop];
  const own = program === "ends at once" || program === "sleeps" ? ["ok"] : [];
  // more output than a program may print ends it, unless something else does first
  return [...stopped, ...own, ...(program === "prints" ? ["output_limit"] : [])];
}

const template = () => processRunner({ layout: "template" });

describe.skipIf(skipsProcess).each([
  {
    runner: "process",
    make: template,
    rounds: longRounds ?? (isThorough ? 240 : 120),
    sessions: 4,
    programs: names,
    states: ["kept", "recovered"],
  },
  // no processes in a cell of WebAssembly, and a killed one takes a second to start again; one that is killed before its first copy loses its variables, and says so
  {
    runner: "wasm",
    make: () => wasmRunner(),
    rounds: longRounds ?? 12,
    sessions: 2,
    programs: names.slice(0, 3),
    states: ["kept", "recovered", "lost"],
  },
])("a storm of aborts, timeouts and interrupts ($runner)", ({ make, rounds, sessions, states, programs: chosen }) => {
  let stateDir: string;
  let codecell: Codecell;
  beforeAll(async () => {
    stateDir = await newStateDir();
    codecell = await openManager(stateDir, { proc: { timeout: "20s", output: "64KiB" } }, { runners: [make()] });
  });
  afterAll(async () => {
    await codecell?.close();
    await removeStateDir(stateDir);
  });

  test(
    `leaves every session alive, with the variables that its results promise (${rounds} rounds, seed ${seed})`,
    async () => {
      const ends = new Map<string, number>();
      const work = async (index: number) => {
        const random = dice(seed + index);
        const session = await codecell.session(`storm-${index}`);
        let before: number | null = -1;
        const first = await session.run(`n = ${before}`);
        const after = new Map<number, number | null>([
          [0, null], // a fresh interpreter
          [first.id, before],
        ]);
        for (let number = index; number < rounds; number += sessions) {
          const round = nextRound(number, chosen, random);
          const result = await perform(session, round);
          const told = `${JSON.stringify(round)}: ${result.status}, ${result.state}; ${result.notes.join("; ")}`;
          expect(mayEnd(round), told).toContain(result.status);
          expect(states, told).toContain(result.state);
          const now = await within(30_000, session.get("globals().get('n')"));
          // Stopped before its first line, or afterwards. What was recovered is from the run that the result names.
          const kept = result.recoveredTo === undefined ? [before, number] : [after.get(result.recoveredTo)];
          const promised = result.state === "lost" ? [null] : kept;
          expect(promised, told).toContain(now);
          before = now as number | null;
          after.set(result.id, before);
          const key = `${result.status} (${result.state})`;
          ends.set(key, (ends.get(key) ?? 0) + 1);
        }
      };
      await Promise.all(Array.from({ length: sessions }, (_, index) => work(index)));
      if (longRounds !== undefined) console.log(Object.fromEntries([...ends].sort()));
      // a storm in which nothing was stopped would prove nothing
      for (const status of ["cancelled", "timeout", "interrupted"]) {
        const count = [...ends].filter(([how]) => how.startsWith(status)).reduce((sum, [, times]) => sum + times, 0);
        expect(count, status).toBeGreaterThan(rounds / 100);
      }
      expect((await codecell.list()).filter(({ state }) => state === "live")).toHaveLength(sessions);
    },
    60_000 + rounds * 1_000,
  );
});
