import { z } from "zod";

const artifactFacts = z.object({
  uri: z.string(),
  name: z.string(),
  mime_type: z.string(),
  size: z.number(),
  sha256: z.string(),
  download_url: z.string().optional().describe("link that expires, for the user or for another program"),
});

/** What every tool that runs code answers. */
export const runFacts = z.object({
  status: z
    .enum(["ok", "error", "timeout", "interrupted", "out_of_memory", "output_limit", "crashed", "cancelled", "running"])
    .describe("running: call get_run with run_id"),
  error: z.object({ type: z.string(), message: z.string(), traceback: z.string() }).nullable(),
  result: z.string().nullable().describe("repr of the last expression"),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean().describe("text was cut; read_output with output_handle has all of it"),
  output_handle: z.string().nullable(),
  artifacts: z.array(artifactFacts).describe("files that the run made or changed"),
  images: z.number().describe("pictures in this result"),
  notes: z.array(z.string()),
  state: z.enum(["kept", "recovered", "lost"]).nullable().describe("what is left of the variables; null while running"),
  session_id: z.string().describe("pass it to the next call to keep variables and files"),
  run_id: z.string(),
  duration_ms: z.number(),
  runner: z.string(),
});
export type RunFacts = z.output<typeof runFacts>;
