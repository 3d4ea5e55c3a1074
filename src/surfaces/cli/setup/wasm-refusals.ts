import { Cleanup } from "../../../lib/cleanup.ts";
import { silentLogger } from "../../../lib/log/logger.ts";
import type { Policy } from "../../../policy/schema.ts";
import type { CommandContext } from "../command.ts";
import type { Plan } from "../sessions/session-types.ts";
import { engineRunners } from "./srt-paths.ts";

/** The rules that cannot be enforced inside srt, where only the wasm runner and engines outside srt work. */
export async function wasmRefusals(policy: Policy, context: CommandContext): Promise<Plan["refused"]> {
  const { runner: wanted } = policy.isolation;
  if (engineRunners.has(wanted)) return [];
  if (wanted !== "auto" && wanted !== "wasm") {
    const reason = `the ${wanted} runner does not start inside another sandbox`;
    return [{ rule: "isolation.runner", value: wanted, reason, hint: "set it to auto or wasm" }];
  }
  await using cleanup = new Cleanup();
  const runners = context.runners(silentLogger);
  for (const runner of runners) cleanup.defer(() => runner[Symbol.asyncDispose]());
  const plan = await runners.find(({ name }) => name === "wasm")?.plan(policy);
  return plan?.refused ?? [];
}
