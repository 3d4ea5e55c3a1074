import type { ToolsetName } from "./toolset-name.ts";

const interpreter = `run_python runs Python (or bash) in an isolated session. Pass the session_id it returns to later calls to keep variables and files. Without session_id a new session starts.`;

const rlm = `The rlm_* tools share one session: rlm_load reads a project file into a variable without passing it through the conversation, rlm_exec processes it, rlm_get and rlm_vars show the result, rlm_reset clears the session.`;

const shared = `Use it for calculations, data analysis, plots, parsing large files, and untrusted code. To edit the user's project, use your own tools: a session does not change it.

- status "error": your program failed; correct it and call again. Variables are kept. If a tool itself fails, its text says what to do next.
- status "running": call get_run with the run_id to wait, or cancel_run to stop it. Every call returns within 45 seconds.
- Files written to the working directory are returned as artifacts: list and read them with list_artifacts and read_artifact. Shown figures are returned as images.
- Truncated output has an output_handle for read_output. Print less: summaries, heads, counts.
- Code cannot reach the network or the user's files, unless the policy allows it. Do not work around a refusal; tell the user.`;

/** Instructions that a client gives its model about the tools: under 2,000 characters, most important first. */
export function instructionsFor(tools: ToolsetName): string {
  const first = [...(tools === "rlm" ? [] : [interpreter]), ...(tools === "interpreter" ? [] : [rlm])];
  return [...first, shared].join("\n\n");
}
