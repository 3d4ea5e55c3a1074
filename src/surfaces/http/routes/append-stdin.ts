import { z } from "zod";
import { findRun, stdinOf } from "../answers/run-outcome.ts";
import { runParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const maxCharacters = 64 * 1024;

export const appendStdinRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/runs/{run}/stdin",
  id: "appendStdin",
  summary: "Append text to the standard input of a run",
  description:
    "For a run that was started with `stdin_stream`, such as one that calls `input()`. The program waits for more until a call has `end`. Use PUT to send the whole input as one body.",
  tag: "runs",
  scope: "run",
  params: runParams,
  body: z.strictObject({
    text: z.string().max(maxCharacters).default("").describe("with its line breaks"),
    end: z.boolean().default(false).describe("true: no more input follows"),
  }),
  replies: {
    200: {
      description: "how much of the input the program has",
      schema: z.strictObject({
        size: z.int().describe("bytes that the run took"),
        waiting: z.int().describe("bytes that the run has not taken yet"),
        open: z.boolean().describe("whether it takes more; false: `end` was sent, or the run has ended"),
      }),
    },
  },
  async handle({ params, body, tenant }) {
    const { sandbox, runId } = await findRun(tenant, params);
    const stdin = stdinOf(sandbox, runId);
    const isRunning = sandbox.runs.status(runId).status === "running";
    if (isRunning) stdin.append(Buffer.from(body.text), body.end);
    return { json: { size: stdin.size, waiting: stdin.waitingBytes, open: isRunning && !body.end } };
  },
});
