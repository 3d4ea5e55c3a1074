import type { AttackTier } from "../../../attacks/attack.ts";
import type { AttackedTier } from "../../../attacks/run/attack-cells.ts";
import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import { silentLogger } from "../../../lib/log/logger.ts";
import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { nearest } from "../../../policy/file/suggest.ts";
import { compareIsolation } from "../../../policy/isolation.ts";
import type { CommandContext } from "../command.ts";
import type { Runner } from "../sessions/session-types.ts";

/** A tier that can be attacked, or why it cannot. */
export type FoundTier =
  | { readonly available: true; readonly version: string; readonly tier: AttackedTier }
  | { readonly available: false; readonly name: AttackTier; readonly reason: string; readonly hint: string };

/** The tiers of this machine, strongest first; `named`: that one alone. */
export async function findTiers(context: CommandContext, named: string | undefined): Promise<FoundTier[]> {
  await using cleanup = new Cleanup();
  const runners = await context.runners(silentLogger, isRunnerName(named) ? { named } : {});
  for (const runner of runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
  const wanted = runners.filter(({ name }) => named === undefined || name === named);
  if (named !== undefined && wanted.length === 0) throw unknownRunner(named, runners);
  const strongestFirst = [...wanted].sort((a, b) => compareIsolation(b.isolation, a.isolation));
  return await Promise.all(strongestFirst.map((runner) => examine(runner, context, named !== undefined)));
}

/** Runners that can be loaded without the others. */
function isRunnerName(name: string | undefined): name is "process" | "wasm" | "srt" | "kubernetes" {
  return name === "process" || name === "wasm" || name === "srt" || name === "kubernetes";
}

async function examine(runner: Runner, context: CommandContext, isWanted: boolean): Promise<FoundTier> {
  const isGvisorPod = runner.name === "kubernetes" && runner.isolation === "gvisor";
  const name = (isGvisorPod ? "kubernetes-gvisor" : runner.name) as AttackTier;
  const probe = await runner.probe({ isPatient: true, isWanted });
  if (!probe.available) return { available: false, name, reason: probe.reason, hint: probe.hint };
  const [refusal] = (await runner.plan(parsePolicy({}))).refused; // a container engine without the image refuses
  if (refusal) return { available: false, name, reason: refusal.reason, hint: refusal.hint };
  const isPodman = name === "container" && /podman/i.test(probe.version);
  const make = () => oneRunner(context, runner.name);
  return { available: true, version: probe.version, tier: { name: isPodman ? "podman" : name, make } };
}

/** A new runner of this name; its owner disposes it. */
async function oneRunner(context: CommandContext, name: Runner["name"]): Promise<Runner> {
  const runners = await context.runners(silentLogger, isRunnerName(name) ? { named: name } : {});
  const [found, ...others] = [...runners].sort((a, b) => Number(b.name === name) - Number(a.name === name));
  await Promise.all(others.map((other) => other[Symbol.asyncDispose]()));
  if (!found) throw new CodecellError("internal", `the ${name} runner is gone`);
  return found;
}

function unknownRunner(named: string, runners: readonly Runner[]): CodecellError {
  const names = runners.map(({ name }) => name);
  const near = nearest(named, names);
  return new CodecellError("usage", `unknown runner ${JSON.stringify(named)}`, {
    hint: near === undefined ? `use one of: ${names.join(", ")}` : `did you mean ${near}?`,
  });
}
