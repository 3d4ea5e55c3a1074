import { z } from "zod";
import { sendFile } from "../answers/send-file.ts";
import { fileParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const getFileRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/files/{path...}",
  id: "getFile",
  summary: "Download a file",
  description: "The whole file, or the part that a Range header requests.",
  tag: "files",
  scope: "read",
  params: fileParams,
  query: z.strictObject({
    disposition: z
      .enum(["attachment", "inline"])
      .default("attachment")
      .describe("inline works for images and plain text"),
  }),
  replies: {
    200: { description: "the file", contentType: "application/octet-stream" },
    206: { description: "a part of the file", contentType: "application/octet-stream" },
  },
  async handle({ params, query, tenant, service, request, signal }) {
    const files = await (await tenant.sessions.get(params.session)).files();
    const { digests, limits } = service;
    return sendFile(files, params.path, request, {
      ...{ disposition: query.disposition, digests, stallMs: limits.stallMs, signal },
    });
  },
});
