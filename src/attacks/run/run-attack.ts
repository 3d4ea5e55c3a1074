import { randomBytes } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { RunResult } from "../../sessions/runs/run.ts";
import type { Session } from "../../sessions/session.ts";
import { type Attack, type AttackResult, forTier, type HostCheck } from "../attack.ts";
import { startHostChecks } from "../host/host-checks.ts";
import { type AttackProgram, bashProgramOf, programOf } from "../program.ts";
import type { AttackCells } from "./attack-cells.ts";
import { type Judgement, judge } from "./judge.ts";

const defaultTimeoutMs = 10_000;
/** A session that has not answered this long after its limit never will. */
const graceMs = 25_000;
/** long enough for the copy that is made while idle */
const idleMs = 200;

/** Carries out one attack on one tier. It never throws: what goes wrong is a verdict, and the suite continues. */
export async function runAttack(attack: Attack, cells: AttackCells, signal?: AbortSignal): Promise<AttackResult> {
  const { tier } = cells;
  const started = performance.now();
  const reason = forTier(attack.notTried, tier);
  const outcome = reason === undefined ? await attempt(attack, cells, signal) : notTried(reason);
  return { attack, tier, ...outcome, durationMs: Math.round(performance.now() - started) };
}

async function attempt(attack: Attack, cells: AttackCells, signal: AbortSignal | undefined): Promise<Judgement> {
  const scenario = attack.scenario ?? "plain";
  try {
    signal?.throwIfAborted();
    const session = needsOwnSession(attack) ? await cells.fresh(scenario) : await cells.shared(scenario);
    try {
      return await attackIn(session, attack, cells, signal);
    } finally {
      if (needsOwnSession(attack)) await session.close();
    }
  } catch (error) {
    // A runner that refuses the policy of the scenario is no wall that was tested.
    if (error instanceof CodecellError && error.code === "policy_refused") return notTried(error.message);
    return { verdict: "failed", detail: messageOf(error) };
  }
}

async function attackIn(
  session: Session,
  attack: Attack,
  cells: AttackCells,
  signal: AbortSignal | undefined,
): Promise<Judgement> {
  const { host, tier } = cells;
  const scenario = attack.scenario ?? "plain";
  const mine = `mine-${randomBytes(8).toString("hex")}`;
  const finishChecks = await startHostChecks(checksOf(attack), { attack, cells, session, mine });
  if (attack.afterIdle) await pause(idleMs);
  const program = attack.language === "bash" ? bashProgramOf : programOf;
  const first = await runIn(session, program(attack.code, { ...host.facts, mine }), attack, signal);
  let printed = printedBy(first.result);
  let said = judge(attack, tier, first);
  if (scenario === "next-session" && said.verdict === "contained" && attack.afterwards !== undefined) {
    await session.close();
    await using next = await cells.fresh(scenario);
    const second = await runIn(next, programOf(attack.afterwards, { ...host.facts, mine }), attack, signal);
    printed += printedBy(second.result);
    said = judge(attack, tier, second);
  }
  // The host's own eyes come last, and count more than what the program says.
  const seen = (await finishChecks(first.result)) ?? (await host.harm(printed));
  if (!isIntact(first.result) && !needsOwnSession(attack)) await cells.replace(scenario);
  return seen === undefined ? said : { verdict: "harmed", detail: seen };
}

/** What a run printed, and how it ended. */
export interface CarriedOut {
  readonly result: RunResult;
  readonly program: AttackProgram;
}

/** Runs a program; throws if the session never answers. */
export async function runIn(
  session: Session,
  program: AttackProgram,
  { language = "python", timeoutMs = defaultTimeoutMs }: Pick<Attack, "language" | "timeoutMs">,
  signal: AbortSignal | undefined,
): Promise<CarriedOut> {
  let timer: NodeJS.Timeout | undefined;
  const silent = new Promise<never>((_, reject) => {
    const late = () => reject(new Error("the session did not answer; it was closed"));
    timer = setTimeout(late, timeoutMs + graceMs);
  });
  const run = session.run(program.code, { language, timeout: timeoutMs, ...(signal ? { signal } : {}) });
  try {
    return { result: await Promise.race([run, silent]), program };
  } finally {
    clearTimeout(timer);
  }
}

/** Everything that a run sent to the host as text. */
export function printedBy({ stdout, stderr, value, error, notes, displays }: RunResult): string {
  const shown = displays.map(({ data }) => Buffer.from(data).toString("latin1"));
  return [stdout, stderr, value ?? "", JSON.stringify(error ?? {}), ...notes, ...shown].join("\n");
}

export function isIntact({ status, state }: RunResult): boolean {
  return state === "kept" && (status === "ok" || status === "error");
}

const closesSession = (name: HostCheck) => name === "process-survived" || name === "still-beating";

/** The session is closed during these attacks, or may be spoiled by them. */
function needsOwnSession({ needsOwnCell, scenario, hostChecks = [] }: Attack): boolean {
  return needsOwnCell === true || scenario === "next-session" || hostChecks.some(closesSession);
}

function checksOf({ scenario, hostChecks = [] }: Attack): readonly HostCheck[] {
  const own: readonly HostCheck[] = scenario === "neighbour" ? ["neighbour-changed"] : [];
  return [...new Set([...own, ...hostChecks])];
}

function notTried(detail: string): Judgement {
  return { verdict: "not tried", detail };
}
