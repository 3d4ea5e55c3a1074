import { z } from "zod";
import { afterRuns } from "../../../service/runs/start-run.ts";
import type { Session } from "../../../sessions/session.ts";
import { jsonAround } from "../answers/json-around.ts";
import { reserveParts } from "../answers/send-body.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute, type Reply } from "../route.ts";

const maxBytes = 16 * 1024 * 1024;
const maxPreviewBytes = 1024 * 1024;

const valueSchema = z.union([
  z.strictObject({ value: z.unknown().describe("as JSON") }),
  z.strictObject({
    form: z.enum(["json", "repr"]).describe("`repr`: the value has no JSON form"),
    text: z.string().describe("the beginning of its text"),
    characters: z.int().describe("length of the whole text"),
    is_cut: z.boolean(),
  }),
]);

const bodySchema = z.strictObject({
  expression: z.string().max(100_000),
  as: z.enum(["json", "preview"]).default("json").describe("`preview`: the beginning of its text, whatever its size"),
  timeout: z.number().positive().max(86_400).optional().describe("seconds; at most the policy's proc.timeout"),
  max_bytes: z.number().int().min(1).max(maxBytes).optional(),
});

export const readValueRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/values",
  id: "readValue",
  summary: "Get the value of a Python expression",
  description:
    "Needs the scope `run`, because an expression is code, and counts as one of the token's concurrent runs. If a run is running in the session, it waits for its end.",
  tag: "variables",
  scope: "run",
  params: sessionParams,
  body: bodySchema,
  replies: { 200: { description: "the value", schema: valueSchema } },
  async handle({ params, body, tenant, memory, signal }) {
    const { runs } = await tenant.sandbox();
    const session = await tenant.sessions.get(params.session);
    await afterRuns(runs, session.id, signal);
    const release = runs.acquireSlot();
    try {
      return await readValue(session, body, reserveParts(memory));
    } finally {
      release();
    }
  },
});

type Body = z.output<typeof bodySchema>;

async function readValue(session: Session, body: Body, onBytes: (bytes: number) => void): Promise<Reply> {
  const time = body.timeout === undefined ? {} : { timeoutMs: body.timeout * 1000 };
  if (body.as === "json") {
    const limits = { maxBytes: body.max_bytes ?? maxBytes, onBytes };
    return jsonAround({}, await session.getJson(body.expression, { ...time, ...limits }));
  }
  const most = body.max_bytes === undefined ? {} : { maxBytes: Math.min(body.max_bytes, maxPreviewBytes) };
  const { form, text, characters, isCut } = await session.preview(body.expression, { ...time, ...most });
  return { json: { form, text, characters, is_cut: isCut } };
}
