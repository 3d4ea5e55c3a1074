import { parsePolicy } from "../../../policy/file/parse-policy.ts";
import { policyRules, type RuleName } from "../../../policy/rules.ts";
import type { Receipt } from "../sessions/session-types.ts";

/** The rules that people check first: files, network, processes, memory, time and secrets. */
const highlights: ReadonlySet<string> = new Set<RuleName>([
  "fs.workspace",
  "fs.mounts",
  "net.enabled",
  "proc.timeout",
  "proc.memory",
  "proc.pids",
  "proc.disk",
  "env",
]);

/** The most important rows of a receipt: the highlights, and every rule that differs from its default. */
export function highlightedRules(rules: Receipt["rules"]): Receipt["rules"] {
  const defaults = new Map<string, string>(policyRules(parsePolicy({})).map(({ rule, value }) => [rule, value]));
  return rules.filter(({ rule, value }) => highlights.has(rule) || defaults.get(rule) !== value);
}
