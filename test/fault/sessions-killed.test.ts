import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { processRunner } from "../../src/runners/process/runner.ts";
import type { Codecell } from "../../src/sessions/codecell.ts";
import type { RunResult } from "../../src/sessions/runs/run.ts";
import type { Session } from "../../src/sessions/session.ts";
import { leftBehind } from "../support/left-behind.ts";
import { newStateDir, openManager, removeStateDir, runIn } from "../support/managers.ts";
import { eventually, hostProcesses, idle, ownCells, skipsProcess, within } from "../support/process-cells.ts";
import { isThorough } from "../support/thorough.ts";

/** each operation (7) with each pause before it (3) and after the kill (2), once or twice */
const workerRounds = isThorough ? 84 : 42;
/** each operation once or three times */
const cellRounds = isThorough ? 21 : 7;
const templateRounds = isThorough ? 5 : 3;
/** each stage of a host once, or twice */
const hostRounds = isThorough ? 12 : 6;
/** Each round kills and starts processes, on a machine that may be busy. These limits are only for tests that hang. */
const roundMs = { worker: 3_000, cell: 6_000, template: 15_000, host: 20_000 };
const script = fileURLToPath(new URL("sessions-host.mjs", import.meta.url));
const built = fileURLToPath(new URL("../../dist/bundled/index.js", import.meta.url));

/** What a session's variables should be after each run, and what its results say about them. */
class Ledger {
  readonly #after = new Map<number, number>();
  #expected: number | undefined;
  /** at the checkpoint */
  marked: number | undefined;

  ran(run: number, n: number): void {
    this.#after.set(run, n);
    this.#expected = n;
  }

  /** A run that changed nothing, or whose changes were lost with it. */
  seen(run: number): void {
    if (this.#expected !== undefined) this.#after.set(run, this.#expected);
  }

  expect(n: number | undefined): void {
    this.#expected = n;
  }

  get expected(): number | undefined {
    return this.#expected;
  }

  /** The latest note about the variables decides. Without a note they are unchanged. */
  told(texts: readonly string[]): void {
    for (const text of texts) {
      const back = /as they were after run (\d+)/.exec(text);
      const mark = /as they were at checkpoint/.test(text);
      if (back) this.#expected = this.#after.get(Number(back[1]));
      else if (mark) this.#expected = this.marked;
      else if (/is fresh|before the first run|without them|without its variables/.test(text))
        this.#expected = undefined;
    }
  }

  /** A new cell knows no state of the one before it. */
  newCell(): void {
    this.#after.clear();
  }
}

const value = "n if 'n' in globals() else None";

describe.skipIf(skipsProcess)("sessions whose processes are killed", () => {
  let stateDir: string;
  let manager: Codecell;
  beforeAll(async () => {
    stateDir = await newStateDir();
    manager = await openManager(stateDir, { proc: { timeout: "10s" }, session: { checkpoints: 4 } });
  });
  afterAll(async () => {
    await manager?.[Symbol.asyncDispose]();
    await removeStateDir(stateDir);
  });

  /** The worker of a session, found by the name that it sets for itself. */
  async function workerOf(session: Session, name: string): Promise<number> {
    await session.set("name_", name);
    await session.get("open('/proc/self/comm', 'w').write(name_)");
    const found = hostProcesses().find(({ status }) => status.Name === name);
    if (!found) throw new Error("the worker is not to be found");
    return found.pid;
  }

  /** A random operation to interrupt. The ledger records its effect on the variables if it succeeds. */
  async function act(session: Session, ledger: Ledger, round: number): Promise<string[]> {
    const half = round + 0.5;
    switch (round % 7) {
      case 0: {
        const result = await session.run(`n = ${half}\nimport time\ntime.sleep(0.03)`);
        ledger.told(result.notes); // in a result with kept state, notes are about the time before the run
        if (result.state === "kept") ledger.ran(result.id, half);
        else ledger.seen(result.id);
        return result.state === "kept" ? [] : [...result.notes];
      }
      case 1:
        await session.checkpoint("mark");
        return [];
      case 2:
        await session.checkpoint("mark");
        ledger.marked = ledger.expected;
        await session.rollback("mark");
        return [];
      case 3:
        await session.variables();
        return [];
      case 4:
        await session.get("__import__('time').sleep(0.02)");
        return [];
      case 5: {
        const fork = await manager.fork(session.id);
        const result = await runIn(fork, value);
        await manager.closeSession(fork.id);
        if (result.state === "kept" && result.notes.length === 0)
          expect(result.value ?? "None").toBe(String(ledger.expected ?? "None"));
        return [];
      }
      default:
        await idle(20);
        return [];
    }
  }

  async function checked(session: Session, ledger: Ledger, words: string[]): Promise<RunResult> {
    const result = await within(15_000, runIn(session, value));
    if (result.status === "crashed") {
      // the worker was dying when it got this run, whose result must say so and what is left
      expect(result.notes.join()).toContain("killed by signal 9");
      ledger.told([...words, ...result.notes]);
      ledger.seen(result.id);
      const next = await checked(session, ledger, []);
      return { ...next, notes: [...result.notes, ...next.notes] };
    }
    expect(result.status).toBe("ok");
    ledger.told([...words, ...result.notes]);
    const said = [...words, ...result.notes].join("; ");
    expect({ n: result.value ?? "None", said }).toEqual({ n: String(ledger.expected ?? "None"), said });
    ledger.seen(result.id);
    return result;
  }

  test(
    `are intact or report what they lost when a worker is killed at ${workerRounds} moments`,
    async () => {
      const outcomes: Record<string, number> = {};
      let session = await manager.session("workers");
      const ledger = new Ledger();
      for (let round = 0; round < workerRounds; round++) {
        if (round % 25 === 24) {
          await manager.closeSession(session.id);
          session = await manager.session("workers");
          ledger.newCell();
          ledger.expect(undefined);
        }
        const set = await runIn(session, `n = ${round}`);
        expect(set).toMatchObject({ status: "ok", state: "kept" });
        ledger.ran(set.id, round);
        const worker = await workerOf(session, `w${Math.random().toString(36).slice(2, 12)}`);
        if (round % 3 === 0) await idle(30);
        const acting = act(session, ledger, round).catch((error: unknown) => {
          expect(error).toBeInstanceOf(CodecellError);
          return [(error as Error).message];
        });
        await idle(Math.random() * 25);
        killIfThere(worker);
        const words = await within(20_000, acting);
        await idle(round % 2 === 0 ? 0 : 15);
        const result = await checked(session, ledger, words);
        const outcome =
          ledger.expected === undefined ? "lost" : words.length + result.notes.length ? "recovered" : "intact";
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      }
      console.info(`a worker killed ${workerRounds} times:`, outcomes);
      expect(outcomes.recovered).toBeGreaterThan(workerRounds / 4);
      await manager.closeSession("workers");
    },
    workerRounds * roundMs.worker,
  );

  test(
    `report the loss and keep their files when a cell's first process is killed at ${cellRounds} moments`,
    async () => {
      const others = await manager.session("untouched");
      await runIn(others, "n = 'untouched'");
      const spared = new Set(ownCells().map(({ pid }) => pid));
      const session = await manager.session("cells");
      const ledger = new Ledger();
      for (let round = 0; round < cellRounds; round++) {
        const set = await runIn(session, `n = ${round}\nopen('n.txt', 'w').write('${round}')`);
        ledger.ran(set.id, round);
        const cell = ownCells().find(({ pid }) => !spared.has(pid));
        const acting = act(session, ledger, round).catch((error: unknown) => [(error as Error).message]);
        await idle(Math.random() * 20);
        if (cell) process.kill(cell.pid, "SIGKILL");
        await within(20_000, acting);
        await eventually(() => session.state !== "live");
        ledger.newCell();
        const result = await checked(session, ledger, []);
        expect(result.notes.join()).toContain("without them");
        expect(await runIn(session, "open('n.txt').read()")).toMatchObject({ value: `'${round}'`, notes: [] });
        expect(await runIn(others, "n")).toMatchObject({ value: "'untouched'", notes: [] });
      }
      await manager.closeSession("cells");
      expect(await eventually(() => ownCells().every(({ pid }) => spared.has(pid)))).toBe(true);
      await manager.closeSession("untouched");
    },
    cellRounds * roundMs.cell,
  );

  test(
    `all recover after their template was killed ${templateRounds} times`,
    async () => {
      const sessions = await Promise.all(["t1", "t2", "t3"].map((id) => manager.session(id)));
      for (let round = 0; round < templateRounds; round++) {
        await Promise.all(sessions.map((session) => runIn(session, `n = ${round}`)));
        const going = sessions.map((session) => session.run("import time\ntime.sleep(0.05)"));
        await Promise.all(going.map((run) => run.accepted()));
        // a cell whose parent exits becomes a child of the template, and a cell of the dead template may still be exiting
        const parents = () => new Set(ownCells().map(({ status }) => Number(status.PPid)));
        expect(await eventually(() => parents().size === 1)).toBe(true);
        const [template] = parents();
        expect(template).not.toBe(process.pid); // a template that is just starting still has this parent
        await idle(Math.random() * 80);
        process.kill(Number(template), "SIGKILL");
        for (const run of going) expect(["ok", "crashed"]).toContain((await within(15_000, run)).status);
        await eventually(() => sessions.every(({ state }) => state !== "live"));
        for (const session of sessions) {
          const result = await within(15_000, runIn(session, value));
          expect(result).toMatchObject({ status: "ok", value: undefined });
          expect(result.notes.join()).toContain("without them");
        }
      }
      for (const { id } of sessions) await manager.closeSession(id);
      expect(await eventually(() => ownCells().length === 0)).toBe(true);
      expect(readdirSync(join(stateDir, "workspaces"))).toEqual([]);
    },
    templateRounds * roundMs.template,
  );
});

interface Line {
  readonly t: "up" | "begins" | "ran" | "saved";
  readonly id: string;
  readonly n: number;
}

describe.skipIf(skipsProcess)("saved sessions whose host is killed", () => {
  let stateDir: string;
  let runtimeDir: string;
  const hosts = new Set<ChildProcess>();
  beforeAll(async () => {
    if (!existsSync(built)) throw new Error("this test runs the built package: npm run build");
    stateDir = await newStateDir();
    runtimeDir = await mkdtemp(join(tmpdir(), "cc-run-"));
    await chmod(runtimeDir, 0o711);
  });
  afterAll(async () => {
    for (const host of hosts) host.kill("SIGKILL");
    await removeStateDir(stateDir);
    await rm(runtimeDir, { recursive: true, force: true });
  });
  const open = () => {
    const runners = [processRunner({ layout: "template", runtimeDir })];
    const policy = { session: { persist: true }, proc: { timeout: "10s" } } as const;
    return openManager(stateDir, policy, { runtimeDir, runners });
  };

  test(
    `at ${hostRounds} moments are restored as saved or report what is lost, and nothing is left behind`,
    async () => {
      const outcomes: Record<string, number> = {};
      const living = await open();
      const neighbour = await living.session("neighbour");
      await runIn(neighbour, "n = 'neighbour'\nopen('n.txt', 'w').write('neighbour')");
      const mine = new Set(readdirSync(runtimeDir));
      const workspaces = new Set(readdirSync(join(stateDir, "workspaces")));
      const known = new Map<string, Facts>();
      for (let round = 0; round < hostRounds; round++) {
        const host = spawn(process.execPath, [script, stateDir, runtimeDir, String((round + 1) * 1000)], {
          stdio: ["ignore", "pipe", "inherit"],
        });
        hosts.add(host);
        const exited = once(host, "exit");
        const lines = createInterface({ input: host.stdout });
        const read = once(lines, "close");
        const saidOnce = (wanted: Line["t"]) =>
          new Promise<void>((resolve) => {
            lines.on("line", (text) => (JSON.parse(text) as Line).t === wanted && resolve());
          });
        const [up, saved] = [saidOnce("up"), saidOnce("saved")];
        lines.on("line", (text) => {
          const { t, id, n } = JSON.parse(text) as Line;
          if (t !== "up") known.set(id, { ...(known.get(id) ?? nothing), [keys[t]]: n });
        });
        // some while it starts, some before its first save, and most after it, however slow the machine is
        if (round % 6 > 0) await Promise.race([round % 6 > 2 ? saved : up, exited]);
        await idle(round % 6 > 0 ? 100 + Math.random() * 500 : Math.random() * 300);
        expect(host.exitCode).toBeNull();
        const tags = readdirSync(runtimeDir).filter((name) => /^cc[0-9a-f]{12}$/.test(name) && !mine.has(name));
        host.kill("SIGKILL");
        await exited;
        await read;
        hosts.delete(host);

        const next = await open();
        try {
          for (const { id } of (await next.list()).filter((one) => one.id !== "neighbour")) {
            const facts = known.get(id);
            const session = await next.get(id);
            const result = await within(15_000, runIn(session, `${value}, open('n.txt').read()`).catch(raise));
            const said = result.notes.join("; ");
            if (id.startsWith("s-")) {
              // a fork that was never saved because its host was killed
              expect({ n: result.value?.startsWith("(None"), said }).toMatchObject({ n: true });
              if (said !== "") expect(said).toContain("without them");
              outcomes[said === "" ? "fork that never was" : "fork lost"] =
                (outcomes[said === "" ? "fork that never was" : "fork lost"] ?? 0) + 1;
              await next.closeSession(id, { forget: true });
              continue;
            }
            const outcome = judge(result, facts ?? nothing, said);
            // closing the manager saves the session
            const [, n = 0, file = 0] = /^\((\d+|None), '(\d+)'/.exec(result.value ?? "") ?? [];
            known.set(id, { began: 0, ran: 0, saved: n === "None" ? 0 : Number(n), file: Number(file) });
            outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
          }
          expect(await runIn(neighbour, "n, open('n.txt').read()")).toMatchObject({
            value: "('neighbour', 'neighbour')",
            notes: [],
          });
        } finally {
          await next[Symbol.asyncDispose]();
        }
        const records = await Promise.all(
          readdirSync(join(stateDir, "sessions")).map(async (id) => {
            const text = await readFile(join(stateDir, "sessions", id, "session.json"), "utf8");
            return (JSON.parse(text) as { workspace: string }).workspace;
          }),
        );
        const left = () => ({
          ...leftBehind(tags),
          runtime: readdirSync(runtimeDir).filter((name) => !mine.has(name) && !/^kernel|\.takeover$/.test(name)),
          workspaces: readdirSync(join(stateDir, "workspaces")).filter(
            (name) => !workspaces.has(name) && !records.includes(name),
          ),
        });
        if (!(await eventually(() => Object.values(left()).every((list) => list.length === 0))))
          expect(left()).toEqual({ processes: [], cgroups: [], runtime: [], workspaces: [] });
      }
      await living[Symbol.asyncDispose]();
      console.info(`a host killed ${hostRounds} times, its sessions found:`, outcomes);
      expect((outcomes.saved ?? 0) + (outcomes["older save"] ?? 0)).toBeGreaterThan(hostRounds / 3);
    },
    hostRounds * roundMs.host,
  );
});

/** What the host printed since the last check, and what that check found. */
interface Facts {
  readonly began: number;
  readonly ran: number;
  readonly saved: number;
  readonly file: number;
}

const nothing: Facts = { began: 0, ran: 0, saved: 0, file: 0 };
const keys = { begins: "began", ran: "ran", saved: "saved" } as const;

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // a rollback has replaced it
  }
}

function raise(error: unknown): never {
  throw error;
}

/** Whether the restored state is the saved one, and whether the result reports what is missing. */
function judge(result: RunResult, facts: Facts, said: string): string {
  if (result.status === "error") {
    // killed before its first file
    expect({ ran: facts.ran, name: result.error?.name }).toEqual({ ran: 0, name: "FileNotFoundError" });
    return "never ran";
  }
  const [, n, file] = /^\((\w+), '(\d+)'\)$/.exec(result.value ?? "") ?? [];
  expect(Number(file)).toBeGreaterThanOrEqual(facts.ran);
  if (n === "None") {
    expect(facts.saved, said).toBe(0);
    if (facts.ran === 0 && Number(file) === facts.file && !said.includes("lost")) return "saved"; // unchanged since the last check
    expect(said).toMatch(/without them|later changes are lost/);
    return "lost";
  }
  expect(Number(n), said).toBeGreaterThanOrEqual(facts.saved);
  expect(Number(n), said).toBeLessThanOrEqual(Math.max(facts.began, facts.saved));
  const isUntouched = facts.ran === 0 && Number(file) === facts.file;
  if ((Number(n) === Number(file) || isUntouched) && !said.includes("lost")) return "saved";
  expect(said).toContain("later changes are lost");
  return "older save";
}
