import { createHash } from "node:crypto";
import type { Audit } from "../audit/audit.ts";
import { beginningOf, firstNamed, maxTextBytes } from "../audit/bounded-text.ts";
import type { AuditEvent } from "../audit/event.ts";
import { CodecellError } from "../lib/errors.ts";
import { valueHider } from "../lib/hide-values.ts";
import { policyHash } from "../policy/hash.ts";
import type { Policy } from "../policy/schema.ts";
import type { CellUsage } from "../runners/cell-usage.ts";
import type { ComingPolicy } from "./rules/cell-policy.ts";
import type { RunResult } from "./runs/run.ts";

/** What a cell has used so far, and its processor time at the previous reading. */
export interface Spent {
  readonly usage: CellUsage | undefined;
  readonly cpuBeforeMs: number;
}

/** What is known of a run when it starts. */
export interface RunBegin {
  readonly session: string;
  readonly run: number;
  readonly language: string;
  readonly runner: string;
  /** hash of the policy in force */
  readonly policy: string;
  readonly code: string;
  readonly timeoutMs: number;
  /** how many arguments the program got; never their content */
  readonly args?: number;
}

/** What is known of an expression before the cell evaluates it. */
export type ExpressionBegin = Pick<RunBegin, "session" | "runner" | "policy" | "code" | "timeoutMs">;

/** What the gate of an agent decided about one call of a tool. */
export interface ToolVerdict {
  readonly isAllowed: boolean;
  readonly tool: string;
  /** the MCP server of the tool, and where its definition came from */
  readonly server?: { readonly name: string; readonly source: string } | undefined;
  /** the sub-agent that made the call */
  readonly agent?: string | undefined;
  readonly reason: string;
}

const maxNameCharacters = 200;
const maxNames = 100;

/** Records what sessions under one policy do: ids, sizes and hashes, and the code if the policy says so. */
export class SessionAudit {
  readonly audit: Audit;
  #policy: Policy;
  #hash: string | undefined;

  constructor(audit: Audit, policy: Policy) {
    this.audit = audit;
    this.#policy = policy;
  }

  get isDurable(): boolean {
    return this.audit.isDurable;
  }

  /** Waits until the recorded events are on disk, if the policy asks for a durable audit. */
  async settled(session?: string): Promise<void> {
    if (this.isDurable) await this.audit.settled(session);
  }

  get policyHash(): string {
    this.#hash ??= policyHash(this.#policy);
    return this.#hash;
  }

  sessionOpened(session: string, runner: string, origin: "new" | "saved" | "fork", from?: string): void {
    const parent = from === undefined ? {} : { from };
    this.audit.record({ type: "session.opened", session, runner, policy: this.policyHash, origin, ...parent });
  }

  sessionClosed(session: string, isKept: boolean, why?: string): void {
    this.audit.record({ type: "session.closed", session, isKept, ...(why === undefined ? {} : { why }) });
  }

  sessionRestored(
    session: string,
    fromRun: number,
    missing: readonly { readonly name: string }[],
    problem: CodecellError | undefined,
  ): void {
    const names = missing.slice(0, maxNames).map(({ name }) => name.slice(0, maxNameCharacters));
    const why = problem === undefined ? {} : { problem: problem.code };
    this.audit.record({ type: "session.restored", session, fromRun, missing: names, ...why });
  }

  /** Sets the policy that sessions are opened under from now on. */
  set policy(policy: Policy) {
    this.#policy = policy;
    this.#hash = undefined;
  }

  /** Records a change before it is applied, so that one that cannot be recorded is not applied. No session: for all of them. */
  async policyChanging(by: string, { hash, changes }: ComingPolicy, session?: string): Promise<void> {
    const whose = session === undefined ? {} : { session };
    this.audit.record({ type: "override.applied", ...whose, by, policy: hash, changes: [...changes] });
    await this.settled(session);
  }

  runStarted({ session, run, language, runner, policy, code, timeoutMs, args }: RunBegin): void {
    const begin = { type: "run.started", session, run, language, runner, policy } as const;
    const rest = { timeoutMs, ...(args === undefined ? {} : { args }) };
    this.audit.record({ ...begin, ...this.#codeFacts(code), ...rest });
  }

  /** Records an expression before and after the cell evaluates it. With a durable audit, only a recorded one is evaluated. */
  async expression(begin: ExpressionBegin, evaluate: () => Promise<Buffer>): Promise<Buffer> {
    const { session, runner, policy, code, timeoutMs } = begin;
    const started = performance.now();
    this.audit.record({ type: "expression.started", session, runner, policy, ...this.#codeFacts(code), timeoutMs });
    await this.settled(session);
    const end = async (outcome: { status: "ok" | "failed"; error?: string; bytes: number }) => {
      const durationMs = performance.now() - started;
      this.audit.record({ type: "expression.ended", session, ...outcome, durationMs });
      await this.settled(session);
    };
    let value: Buffer;
    try {
      value = await evaluate();
    } catch (failure) {
      await end({ status: "failed", error: failure instanceof CodecellError ? failure.code : "internal", bytes: 0 });
      throw failure;
    }
    await end({ status: "ok", bytes: value.byteLength });
    return value;
  }

  #codeFacts(code: string): { codeHash: string; codeBytes: number; code?: string; isCodeCut?: boolean } {
    const facts = { codeHash: sha256(code), codeBytes: Buffer.byteLength(code) };
    return this.#policy.audit.code === "full" ? { ...facts, ...recordedCode(code, this.#policy.env) } : facts;
  }

  /** The event keeps its place in the order, even if the cell's usage is known only later. */
  runEnded(session: string, run: number, result: RunResult, spent: Promise<Spent>): void {
    this.audit.recordLater(
      spent.then((known) => runEndedEvents(session, run, result, known)),
      session,
    );
  }

  /** codecell itself failed to start or finish the run. */
  runFailed(session: string, run: number, failure: unknown, durationMs: number): void {
    const error = failure instanceof CodecellError ? failure.code : "internal";
    const nothing = { stdoutBytes: 0, stderrBytes: 0, truncated: false, network: [], files: [], filesLeftOut: 0 };
    this.audit.record({ type: "run.ended", session, run, status: "failed", error, durationMs, ...nothing });
  }

  /** The gate of an agent decided about a tool. The names come from a model and from settings of others. */
  toolDecided(session: string, { isAllowed, tool, server, agent, reason }: ToolVerdict): void {
    const origin = server ? { server: short(server.name), source: short(server.source) } : {};
    const whose = agent === undefined ? {} : { agent: short(agent) };
    const facts = { session, tool: short(tool), ...origin, ...whose, reason };
    this.audit.record(isAllowed ? { type: "tool.allowed", ...facts } : { type: "tool.denied", ...facts });
  }

  fileLoaded(session: string, path: string, variable: string, data: Uint8Array): void {
    const facts = { bytes: data.byteLength, sha256: sha256(data) };
    this.audit.record({ type: "file.loaded", session, path, variable, ...facts });
  }

  fileDenied(session: string, path: string, failure: unknown): void {
    if (!(failure instanceof CodecellError)) return;
    const { rule } = failure.details;
    const named = typeof rule === "string" ? { rule } : {};
    this.audit.record({ type: "file.denied", session, path: path.slice(0, 4096), code: failure.code, ...named });
  }
}

function runEndedEvents(session: string, run: number, result: RunResult, spent: Spent): AuditEvent[] {
  const { status, state, exitCode, error, durationMs, stdoutBytes, stderrBytes, truncated, recoveredTo } = result;
  const { usage, cpuBeforeMs } = spent;
  const cpuMs = usage?.cpuMs === undefined ? {} : { cpuMs: Math.max(0, usage.cpuMs - cpuBeforeMs) };
  const peak = usage?.peakMemoryBytes === undefined ? {} : { peakMemoryBytes: usage.peakMemoryBytes };
  const reached = result.egress?.allowed ?? [];
  const listed = firstNamed(result.artifacts);
  const unlisted = result.artifacts.length - listed.length;
  const events: AuditEvent[] = [];
  for (const { host, port, rule } of reached) {
    events.push({ type: "egress.allowed", session, host, port, ...(rule === undefined ? {} : { rule }) });
  }
  for (const { host, port, reason } of result.egress?.denied ?? []) {
    events.push({ type: "egress.denied", session, host, port, reason });
  }
  events.push({
    ...{ type: "run.ended", session, run, status, state, durationMs, stdoutBytes, stderrBytes, truncated },
    ...(exitCode === undefined ? {} : { exitCode }),
    // from the cell: the name of a class may be anything
    ...(error === undefined ? {} : { error: error.name.slice(0, maxNameCharacters) }),
    ...{ ...cpuMs, ...peak },
    network: reached.map((one) => ({ host: one.host, bytesIn: one.receivedBytes, bytesOut: one.sentBytes })),
    files: listed.map(({ name, size, sha256: hash }) => ({ name, size, sha256: hash })),
    ...(unlisted > 0 ? { filesUnlisted: unlisted } : {}),
    filesLeftOut: result.leftOutCount ?? result.leftOut.length,
  });
  if (state === "kept") return events;
  const back = recoveredTo === undefined ? {} : { recoveredTo };
  events.push({ type: "session.recovered", session, run, state, ...back });
  return events;
}

/** The attack: code padded to its limit, so that a few runs take the place of everybody's history. */
function recordedCode(code: string, env: Policy["env"]): { code: string; isCodeCut?: boolean } {
  // Values are hidden before the cut, or the beginning of one could stay at its end.
  const hidden = code.length < maxTextBytes / 6 ? code : (valueHider(env)?.(code) ?? code);
  const kept = beginningOf(hidden);
  return kept === hidden ? { code } : { code: kept, isCodeCut: true };
}

function short(name: string): string {
  return name.slice(0, maxNameCharacters);
}

function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
