import { z } from "zod";
import { jsonAround } from "../answers/json-around.ts";
import { reserveParts } from "../answers/send-body.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

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

export const readValueRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/values",
  id: "readValue",
  summary: "Get the value of a Python expression",
  description: "Needs the scope `run`, because an expression is code.",
  tag: "variables",
  scope: "run",
  params: sessionParams,
  body: z.strictObject({
    expression: z.string().max(100_000),
    as: z.enum(["json", "preview"]).default("json").describe("`preview`: the beginning of its text, whatever its size"),
    timeout: z.number().positive().max(86_400).optional().describe("seconds; default: the policy's proc.timeout"),
    max_bytes: z.number().int().min(1).max(maxBytes).optional(),
  }),
  replies: { 200: { description: "the value", schema: valueSchema } },
  async handle({ params, body, tenant, memory }) {
    const session = await tenant.sessions.get(params.session);
    const time = body.timeout === undefined ? {} : { timeoutMs: body.timeout * 1000 };
    if (body.as === "json") {
      const limits = { maxBytes: body.max_bytes ?? maxBytes, onBytes: reserveParts(memory) };
      return jsonAround({}, await session.getJson(body.expression, { ...time, ...limits }));
    }
    const most = body.max_bytes === undefined ? {} : { maxBytes: Math.min(body.max_bytes, maxPreviewBytes) };
    const { form, text, characters, isCut } = await session.preview(body.expression, { ...time, ...most });
    return { json: { form, text, characters, is_cut: isCut } };
  },
});
