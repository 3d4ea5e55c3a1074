import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { defaultLanguage, languageNames } from "../../../policy/languages.ts";
import { LateStdin } from "../../../service/runs/late-stdin.ts";
import { startRun } from "../../../service/runs/start-run.ts";
import { sessionKey } from "../../../sessions/session-id.ts";
import { runOutcome, runReplies } from "../answers/run-outcome.ts";
import { streamRun } from "../answers/stream-run.ts";
import { offsetQuery, receiptQuery, sessionParams, waitBody } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const idempotencyKey = z
  .string()
  .regex(/^[\x21-\x7e]{8,255}$/, "an Idempotency-Key has 8 to 255 visible ASCII characters");

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
  query: z.strictObject({ offset: offsetQuery, receipt: receiptQuery }),
  headers: z.object({
    "idempotency-key": idempotencyKey
      .optional()
      .describe(
        "a random text; a second request with the same key and body runs nothing, and is answered for the first run",
      ),
  }),
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
  async handle({ params, query, body, tenant, service, request, memory, signal }) {
    const key = keyOf(request.headers["idempotency-key"]);
    const sandbox = await tenant.sandbox();
    const session = await tenant.sessions.get(params.session);
    const { code, language, timeout, args, file } = body;
    if (body.stdin_stream && body.stdin !== undefined) {
      throw new CodecellError("usage", "`stdin` and `stdin_stream` cannot be combined");
    }
    const waitMs = body.wait * 1000;
    const startedAt = performance.now();
    const start = async () => {
      const stdin = body.stdin_stream ? new LateStdin() : body.stdin;
      await sandbox.prepareRun(session);
      const { runId } = await startRun(sandbox.runs, session, code, {
        ...{ language, signal, turnMs: body.when_busy === "wait" ? waitMs : 0 },
        ...(timeout === undefined ? {} : { timeout: timeout * 1000 }),
        ...(args === undefined ? {} : { args }),
        ...(file === undefined ? {} : { file }),
        ...(stdin === undefined ? {} : { stdin }),
      });
      return runId;
    };
    const startWith = (known: string) => {
      const { gateways } = service;
      const described = JSON.stringify([params.session, body]);
      const request = { sessionKey: sessionKey(tenant.namespace, params.session), key: known, described };
      // Another gateway may have had the session, and run this code, before.
      const startHere = () => (gateways ? gateways.startOnce(request, start) : start());
      return tenant.starts.once(known, described, startHere, signal);
    };
    const runId = key === undefined ? await start() : await startWith(key);
    const { sessionId } = sandbox.runs.status(runId);
    const withReceipt = query.receipt === "true";
    if (request.headers.accept?.includes("text/event-stream")) {
      return streamRun(sandbox, runId, { fromOffset: query.offset ?? 0, withReceipt, memory, service });
    }
    const leftMs = body.stdin_stream ? 0 : Math.max(0, waitMs - (performance.now() - startedAt));
    return runOutcome(
      { sandbox, runId, sessionId, runner: tenant.sessions.runner },
      { waitMs: leftMs, memory, signal, withReceipt },
    );
  },
});

function keyOf(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const parsed = idempotencyKey.safeParse(header);
  if (parsed.success) return parsed.data;
  throw new CodecellError("usage", parsed.error.issues[0]?.message ?? "the Idempotency-Key is invalid");
}
