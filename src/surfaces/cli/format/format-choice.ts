import type { EffectivePolicy } from "../policy/effective-policy.ts";
import type { Choice } from "../sessions/session-types.ts";

/** Which policy is in force, and what the flags changed in it. */
export function policyLines({ file, changes }: Pick<EffectivePolicy, "file" | "changes">): string[] {
  const changed = changes.map(({ rule, from, to, direction }) => `${rule}: ${from} → ${to} (${direction}, by a flag)`);
  return [`policy: ${file ?? "none, so the tightest"}`, ...changed];
}

/** Which runner is used, and why no stronger one. */
export function choiceLines({ runner, probe, passedOver }: Choice): string[] {
  const why = passedOver.map((one) => `not ${one.runner}: ${one.reason}${one.hint === "" ? "" : ` (${one.hint})`}`);
  return [`runner: ${runner.name} (${probe.version})`, ...why];
}
