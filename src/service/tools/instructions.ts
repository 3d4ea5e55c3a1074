import { filesText, limitsText, type PolicyFacts } from "./policy-facts.ts";
import type { ToolsetName } from "./toolset-name.ts";

const interpreter = (languages: string) =>
  `run_python runs ${languages} in an isolated session and keeps variables and files between calls. Without session_id, every tool uses one shared session; "new" starts another.`;

const rlm = `rlm_load reads a project file into a variable without passing it through the conversation, rlm_exec works on it, rlm_get and rlm_vars show the result.`;

const both = `run_python and the rlm_* tools share that session.`;

const shared = `Use it for calculations, data analysis, plots, large files and untrusted code. To edit the user's project, use your own tools: a session does not change it.

- status error: your program failed; correct it and call again. If a tool itself fails, its text says what to do next.
- status running: call get_run with the run_id. Every call returns within 45 seconds.
- Files that code writes to the working directory are artifacts: read them with read_artifact. Print less: summaries, heads, counts.
- Do not work around a refusal of the policy; tell the user.`;

/** Instructions that a client gives its model about the tools: under 2,000 characters, most important first. */
export function instructionsFor(tools: ToolsetName, facts?: PolicyFacts): string {
  const first = [
    ...(tools === "rlm" ? [] : [interpreter(facts?.hasProcesses === false ? "Python" : "Python (or bash)")]),
    ...(tools === "interpreter" ? [] : [rlm]),
    ...(tools === "all" ? [both] : []),
  ];
  const here = facts === undefined ? [] : [`${limitsText(withoutLines(facts))} ${filesText(facts)}`];
  return [first.join(" "), ...here, shared].join("\n\n");
}

/** The tools' descriptions list the functions; here they would be a second time. */
function withoutLines({ functions, ...facts }: PolicyFacts): PolicyFacts {
  return functions === undefined ? facts : { ...facts, functions: { ...functions, lines: {} } };
}
