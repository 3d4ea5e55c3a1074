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
    const files = await (await tenant.sessions.get(params.session)).files();
    await files.remove(params.path);
    (await tenant.sandbox()).artifactsChanged();
    return { status: 204 };
  },
});
