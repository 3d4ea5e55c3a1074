import { CodecellError, messageOf } from "../../../lib/errors.ts";
import { type Logger, silentLogger } from "../../../lib/log/logger.ts";
import type { Policy } from "../../../policy/schema.ts";
import { type CellTrial, diagnoseOwnCluster } from "../../../sessions/cluster-diagnosis.ts";
import { LiveSessions } from "../../../sessions/live-sessions.ts";
import type { CommandContext } from "../command.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { effectivePolicy } from "../policy/effective-policy.ts";
import { errorExitCodes } from "../shell/exit-codes.ts";
import { Interruption } from "../shell/interruption.ts";
import { progressLogger } from "../shell/progress-logger.ts";
import { canRunCells, clusterJson, clusterText } from "./format-cluster.ts";

/** Options of `codecell doctor --cluster`. */
export interface ClusterDoctorOptions {
  /** start a cell */
  readonly probe: boolean;
  readonly policy: string | undefined;
  readonly json: boolean;
}

/** Prints what the cluster can hold and what is missing. Returns the exit code. */
export async function runClusterDoctor(options: ClusterDoctorOptions, context: CommandContext): Promise<number> {
  const { stdout, stderr, env } = context.terminal;
  // Somebody at a terminal sees what the wait is for. Programs get the answer alone.
  const logger = options.json || !stdout.isTTY ? silentLogger : progressLogger(stderr, false);
  const { policy } = await effectivePolicy({ policy: options.policy, runner: "kubernetes" }, context.terminal);
  using interruption = new Interruption(context.terminal);
  const tryCell = options.probe ? () => runInOneCell(policy, context, logger, interruption.signal) : undefined;
  const diagnosis = await diagnoseOwnCluster({ env, policy, tryCell, logger });
  if (interruption.exitCode !== undefined) return interruption.exitCode;
  if (options.json) stdout.write(jsonText(clusterJson(diagnosis)));
  else stdout.write(clusterText(diagnosis, styleFor(stdout, env), stdout.columns));
  return canRunCells(diagnosis) ? 0 : errorExitCodes.runner_unavailable;
}

/** A cell of the policy, as every session gets it, with one run. Its receipt says what was proved. */
async function runInOneCell(
  policy: Policy,
  { runners }: CommandContext,
  logger: Logger,
  signal: AbortSignal,
): Promise<CellTrial> {
  // Somebody who has changed the cluster's network asks the doctor whether it is closed, and not what it was before.
  const use = { named: "kubernetes", isForOneCell: true, mustProve: true } as const;
  // Nothing of this run is worth an entry in an audit, and one cell needs no pool.
  const own = { ...policy, audit: { ...policy.audit, enabled: false }, session: { ...policy.session, pool: 0 } };
  const startedMs = performance.now();
  try {
    const there = await runners(logger, use);
    await using sessions = await LiveSessions.open({ policy: own, runners: there, logger });
    const examinedAtMs = performance.now();
    const session = await sessions.openSession({ signal });
    const { status, receipt } = await session.run("6 * 7");
    const firstResultMs = Math.round(performance.now() - examinedAtMs);
    if (status !== "ok")
      return { ran: false, reason: `a cell started, but its run ended with ${status}`, hint: undefined };
    const how = (rule: string) => receipt.rules.find((row) => row.rule === rule)?.how ?? "unknown";
    const examinedMs = Math.round(examinedAtMs - startedMs);
    return { ran: true, examinedMs, firstResultMs, isolation: how("isolation.minimum"), network: how("net.enabled") };
  } catch (error) {
    return { ran: false, reason: messageOf(error), hint: error instanceof CodecellError ? error.hint : undefined };
  }
}
