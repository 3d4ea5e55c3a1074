import { fileParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const deleteFileRoute = defineRoute({
  method: "DELETE",
  path: "/v1/sessions/{session}/files/{path...}",
  id: "deleteFile",
  summary: "Delete a file",
  tag: "files",
  scope: "run",
  params: fileParams,
  replies: { 204: { description: "it is deleted" } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    await session.removeFile(params.path);
    (await tenant.sandbox()).artifactsChanged();
    return { status: 204 };
  },
});
