import { z } from "zod";
import { pageLimit, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const filesSchema = z.object({
  files: z.array(z.object({ path: z.string(), size: z.number(), modified: z.string() })),
  next: z.string().nullable().describe("`after` of the next page"),
  left_out: z.number().describe("number of entries not listed: links, special files, denied names"),
});

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
  replies: { 200: { description: "ordered by path", schema: filesSchema } },
  async handle({ params, query, tenant }) {
    const session = await tenant.sessions.get(params.session);
    const { prefix, after, limit } = query;
    const page = await session.listFiles({
      limit,
      ...(prefix === undefined ? {} : { prefix }),
      ...(after === undefined ? {} : { after }),
    });
    const files = page.files.map(({ path, size, modifiedMs }) => ({
      ...{ path, size, modified: new Date(modifiedMs).toISOString() },
    }));
    return { json: { files, next: page.next ?? null, left_out: page.leftOut } };
  },
});
