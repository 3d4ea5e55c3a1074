import { arch, platform, release } from "node:os";
import type { Attack } from "../../../attacks/attack.ts";
import { overallVerdict, type TierReport } from "../../../attacks/attack-report.ts";
import { attacks as catalogue } from "../../../attacks/catalogue/index.ts";
import { AttackHost } from "../../../attacks/host/attack-host.ts";
import { attackTier } from "../../../attacks/run/run-suite.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { starMatches } from "../../../policy/host-calls/star-glob.ts";
import { codecellVersion } from "../../../service/version.ts";
import type { CommandContext } from "../command.ts";
import { attacksJson } from "../format/attacks-json.ts";
import { attacksText } from "../format/format-attacks.ts";
import { jsonText } from "../format/text/json-text.ts";
import { styleFor } from "../format/text/style.ts";
import { Interruption } from "../shell/interruption.ts";
import { AttackProgress } from "./attack-progress.ts";
import { type FoundTier, findTiers } from "./attacked-tiers.ts";

/** Options of `codecell doctor --attack`. */
export interface RunAttacksOptions {
  readonly runner: string | undefined;
  readonly only: readonly string[];
  readonly json: boolean;
}

/** Attacks every tier of this machine, or one, and prints what happened. Returns the exit code. */
export async function runAttacks(options: RunAttacksOptions, context: CommandContext): Promise<number> {
  const { stdout, stderr, env } = context.terminal;
  const chosen = chooseAttacks(options.only);
  using interruption = new Interruption(context.terminal);
  const found = await findTiers(context, options.runner);
  assertAvailable(found, options.runner);
  const progress = new AttackProgress(stderr, chosen.length);
  const reports = await attackAll(found, chosen, progress, interruption.signal);
  if (interruption.exitCode !== undefined) {
    stderr.write("codecell: interrupted; everything that the attacks made was removed\n");
    return interruption.exitCode;
  }
  const system = `${platform()} ${release()} ${arch()}`;
  const versions = { codecell: codecellVersion(), node: process.versions.node, system };
  if (options.json) stdout.write(jsonText(attacksJson(chosen, reports, versions)));
  else stdout.write(attacksText(chosen, reports, styleFor(stdout, env), stdout.columns));
  return overallVerdict(reports) === "contained" ? 0 : 1;
}

async function attackAll(
  found: readonly FoundTier[],
  attacks: readonly Attack[],
  progress: AttackProgress,
  signal: AbortSignal,
): Promise<TierReport[]> {
  await using host = await AttackHost.open();
  const reports: TierReport[] = [];
  for (const one of found) {
    if (signal.aborted) break;
    if (!one.available) {
      reports.push({ available: false, tier: one.name, reason: one.reason, hint: one.hint });
      continue;
    }
    const { tier, version } = one;
    const started = performance.now();
    progress.begin(tier.name);
    const onResult = progress.result.bind(progress);
    const results = await attackTier(tier, host, { attacks, signal, onResult });
    const durationMs = Math.round(performance.now() - started);
    progress.end(tier.name, durationMs);
    reports.push({ available: true, tier: tier.name, version, durationMs, results });
  }
  return reports;
}

function chooseAttacks(only: readonly string[]): readonly Attack[] {
  if (only.length === 0) return catalogue;
  const chosen = catalogue.filter(({ id, kind }) => only.some((glob) => starMatches(glob, id) || glob === kind));
  if (chosen.length > 0) return chosen;
  throw new CodecellError("usage", `no attack matches ${only.map((glob) => JSON.stringify(glob)).join(" or ")}`, {
    hint: 'use a glob such as "network/*" or a kind such as escape; docs/attacks.md lists them',
  });
}

function assertAvailable(found: readonly FoundTier[], named: string | undefined): void {
  if (found.some(({ available }) => available)) return;
  const [first] = found;
  const reason = first && !first.available ? first.reason : "no runner is available";
  const hint = first && !first.available ? first.hint : "";
  throw new CodecellError("runner_unavailable", named === undefined ? `no tier can be attacked: ${reason}` : reason, {
    hint,
  });
}
