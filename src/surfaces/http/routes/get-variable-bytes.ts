import { z } from "zod";
import { reserveParts } from "../answers/send-body.ts";
import { sessionId, variableName } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const contentType = "application/octet-stream";
const maxBytes = 16 * 1024 * 1024;

export const getVariableBytesRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/variables/{name}/bytes",
  id: "getVariableBytes",
  summary: "Get the bytes of a variable",
  description: `Of a bytes-like or text variable, at most ${maxBytes} bytes. Write a larger one to a file and download that.`,
  tag: "variables",
  scope: "read",
  params: z.strictObject({ session: sessionId, name: variableName }),
  replies: { 200: { description: "the bytes", contentType } },
  async handle({ params, tenant, memory }) {
    const session = await tenant.sessions.get(params.session);
    return { bytes: [await session.getBytes(params.name, { maxBytes, onBytes: reserveParts(memory) })], contentType };
  },
});
