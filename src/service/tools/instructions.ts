import type { ToolsetName } from "./toolset-name.ts";

const interpreter = `run_python runs Python (or bash) in an isolated session. Keep the session_id it returns and pass it on: variables and files stay. Without session_id a new session starts.`;

const rlm = `The rlm_* tools share one session of this server: rlm_load brings a file of the project into a variable without passing it through the conversation, rlm_exec works on it, rlm_get and rlm_vars look at the result, rlm_reset clears it.`;

const shared = `Use it for calculations, data analysis, plots, parsing large files, and code you have not read; use your own tools to edit the user's project, since nothing in a session changes it.

- status "error" is your program's error: correct it and call again; variables are kept. A tool failure says what to do next.
- status "running": call get_run with run_id to wait on, cancel_run to stop. Every call answers within 45 seconds.
- Files written to the working directory come back as artifacts: read_artifact and list_artifacts read them. Shown figures come back as images.
- Cut output has an output_handle for read_output. Print less: summaries, heads, counts.
- There is no network and no access to the user's files, unless the policy says otherwise; do not try to get around a refusal, tell the user.`;

/** What a client tells its model about this server; under 2,000 characters, the most important first. */
export function instructionsFor(tools: ToolsetName): string {
  const first = [...(tools === "rlm" ? [] : [interpreter]), ...(tools === "interpreter" ? [] : [rlm])];
  return [...first, shared].join("\n\n");
}
