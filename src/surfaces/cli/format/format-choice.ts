import type { EffectivePolicy } from "../policy/effective-policy.ts";
import type { Choice } from "../sessions/session-types.ts";

/** The policy in force, and what the flags changed in it. */
export function policyLines({ file, changes }: Pick<EffectivePolicy, "file" | "changes">): string[] {
  const changed = changes.map(({ rule, from, to, direction }) => `${rule}: ${from} → ${to} (${direction}, by a flag)`);
  return [`policy: ${file ?? "none, using the strictest defaults"}`, ...changed];
}

/** The runner in use, and why each stronger one was skipped. */
export function choiceLines({ runner, probe, passedOver }: Choice): string[] {
  return [`runner: ${runner.name} (${probe.version})`, ...skipLines(passedOver)];
}

export function skipLines(passedOver: Choice["passedOver"]): string[] {
  return passedOver.map((one) => `skipped ${one.runner}: ${one.reason}${one.hint === "" ? "" : ` (${one.hint})`}`);
}
