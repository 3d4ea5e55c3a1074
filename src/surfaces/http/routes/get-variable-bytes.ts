import type { ServerResponse } from "node:http";
import { z } from "zod";
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
  async handle({ params, tenant, request }) {
    const data = await (await tenant.sessions.get(params.session)).getBytes(params.name, { maxBytes });
    const send = async (response: ServerResponse) => {
      const headers = { "content-type": contentType, "cache-control": "no-store", "x-content-type-options": "nosniff" };
      response.writeHead(200, { ...headers, "content-length": data.byteLength });
      response.end(request.method === "HEAD" ? undefined : data);
    };
    return { send };
  },
});
