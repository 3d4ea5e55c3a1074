import { z } from "zod";
import { CodecellError } from "../../../lib/errors.ts";
import { fileParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const putFileRoute = defineRoute({
  method: "PUT",
  path: "/v1/sessions/{session}/files/{path...}",
  id: "putFile",
  summary: "Upload a file",
  description:
    "The body is the file, of any type. It is written under a temporary name until it is complete. The limit is the policy's proc.disk.",
  tag: "files",
  scope: "run",
  params: fileParams,
  takesBytes: "stream",
  replies: {
    200: {
      description: "the file was written",
      schema: z.strictObject({ name: z.string(), size: z.int().describe("bytes") }),
    },
  },
  async handle({ params, tenant, request, signal }) {
    const session = await tenant.sessions.get(params.session);
    const maxBytes = session.policy.proc.diskBytes;
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) {
      throw new CodecellError("too_large", `the file is larger than ${maxBytes} bytes`, {
        hint: "the policy's `proc.disk` is the limit",
      });
    }
    // A plain loop that ends early would destroy the connection, and the client could not read the error.
    const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
    const { size } = await session.upload(params.path, body, signal);
    (await tenant.sandbox()).artifactsChanged();
    return { json: { name: params.path, size } };
  },
});
