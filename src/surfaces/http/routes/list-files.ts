import { z } from "zod";
import { encodeFileList, fileListSchema } from "../../../service/wire/file.ts";
import { pageLimit, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const listFilesRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/files",
  id: "listFiles",
  summary: "List the files of a session",
  tag: "files",
  scope: "read",
  params: sessionParams,
  query: z.strictObject({
    prefix: z.string().max(1024).optional(),
    after: z.string().max(1024).optional(),
    limit: pageLimit,
  }),
  replies: { 200: { description: "ordered by path", schema: fileListSchema } },
  async handle({ params, query, tenant, signal }) {
    const session = await tenant.sessions.get(params.session);
    const { prefix, after, limit } = query;
    const options = {
      limit,
      ...(prefix === undefined ? {} : { prefix }),
      ...(after === undefined ? {} : { after }),
    };
    const page = await tenant.listings.run(() => session.listFiles(options), signal);
    return { json: encodeFileList(page) };
  },
});
