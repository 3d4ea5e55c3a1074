import type { Policy } from "../../policy/schema.ts";
import { filesText, limitsText, policyFacts } from "../../service/tools/policy-facts.ts";
import { runToolName } from "./tool-names.ts";

/** What a model should know about the sandbox under this policy. `sandboxedQuery` sends it as the instructions of the server. */
export function sandboxInstructions(policy: Policy): string {
  const facts = policyFacts(policy);
  return `${runToolName} runs Python (or bash) in an isolated session and keeps variables and files between calls. It is the only way to run code here; calls of Bash run in the same sandbox.

${limitsText(facts)} ${filesText(facts)}

Use it for calculations, data analysis, plots and untrusted code.

- status error: your program failed; correct it and call again.
- Print less: summaries, heads, counts. Long output is truncated in the middle; read files that code wrote with code.
- Do not work around a refusal of the policy or the gate; tell the user.`;
}
