import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { defaultLanguage, languageNames } from "../../../policy/languages.ts";
import { LateStdin } from "../../../service/runs/late-stdin.ts";
import { startRun } from "../../../service/runs/start-run.ts";
import { runOutcome, runReplies } from "../answers/run-outcome.ts";
import { streamRun } from "../answers/stream-run.ts";
import { sessionParams, waitBody } from "../parameters.ts";
import { defineRoute } from "../route.ts";

/** More goes through `stdin_stream`, which keeps nothing in memory. */
const maxStdinCharacters = 1024 * 1024;

export const startRunRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/runs",
  id: "startRun",
  summary: "Run code",
  description:
    "Returns the result, or after `wait` seconds 202 and the run's id. With `Accept: text/event-stream` it streams the run's events. If the client disconnects, the run continues.",
  tag: "runs",
  scope: "run",
  params: sessionParams,
  body: z.strictObject({
    code: z.string(),
    language: z.enum(languageNames).default(defaultLanguage),
    timeout: z.number().positive().max(86_400).optional().describe("seconds; at most the policy's proc.timeout"),
    args: z
      .array(z.string())
      .max(10_000)
      .optional()
      .describe("arguments of the program: sys.argv[1:], or $1 … in bash"),
    file: z.string().max(255).optional().describe("name of the program, not a path: __file__ and sys.argv[0], or $0"),
    stdin: z.string().max(maxStdinCharacters).optional().describe("standard input of the program, as text"),
    stdin_stream: z
      .boolean()
      .default(false)
      .describe("send the standard input with PUT …/runs/{run}/stdin; the response is 202 at once"),
    wait: waitBody,
    when_busy: z
      .enum(["refuse", "wait"])
      .default("refuse")
      .describe("if another run is running in this session: return 409, or wait for it, at most `wait` seconds"),
  }),
  replies: runReplies,
  async handle({ params, body, tenant, service, request, signal }) {
    const sandbox = await tenant.sandbox();
    const session = await tenant.sessions.get(params.session);
    const { code, language, timeout, args, file } = body;
    if (body.stdin_stream && body.stdin !== undefined) {
      throw new CodecellError("usage", "`stdin` and `stdin_stream` cannot be combined");
    }
    const stdin = body.stdin_stream ? new LateStdin() : body.stdin;
    const waitMs = body.wait * 1000;
    const startedAt = performance.now();
    await sandbox.prepareRun(session);
    const { runId, sessionId } = await startRun(sandbox.runs, session, code, {
      ...{ language, signal, turnMs: body.when_busy === "wait" ? waitMs : 0 },
      ...(timeout === undefined ? {} : { timeout: timeout * 1000 }),
      ...(args === undefined ? {} : { args }),
      ...(file === undefined ? {} : { file }),
      ...(stdin === undefined ? {} : { stdin }),
    });
    if (request.headers.accept?.includes("text/event-stream")) {
      return streamRun(sandbox, runId, { fromOffset: 0, service });
    }
    const leftMs = body.stdin_stream ? 0 : Math.max(0, waitMs - (performance.now() - startedAt));
    return runOutcome({ sandbox, runId, sessionId, runner: tenant.sessions.runner }, { waitMs: leftMs, signal });
  },
});
