import { z } from "zod";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";
import { artifactSchema } from "../run-view.ts";

const pageSize = 100;

const artifactsSchema = z.object({
  artifacts: z.array(artifactSchema),
  left_out: z.array(z.object({ name: z.string(), reason: z.string(), message: z.string() })),
  next: z.string().nullable().describe("`after` of the next page"),
});

export const listArtifactsRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/artifacts",
  id: "listArtifacts",
  summary: "List the files of a session with type, digest and an expiring link",
  tag: "artifacts",
  scope: "read",
  params: sessionParams,
  query: z.strictObject({ prefix: z.string().max(1024).optional(), after: z.string().max(1024).optional() }),
  replies: { 200: { description: `${pageSize} per page, ordered by path`, schema: artifactsSchema } },
  async handle({ params, query, tenant, service, signal }) {
    const session = await tenant.sessions.get(params.session);
    const { prefix, after } = query;
    const page = await session.listFiles({
      limit: pageSize,
      ...(prefix === undefined ? {} : { prefix }),
      ...(after === undefined ? {} : { after }),
    });
    const found = await session.describe(page.files, { cache: service.digests, signal });
    const artifacts = found.artifacts.map(({ name, size, mimeType, sha256 }) => {
      const { url } = service.links.url(tenant.namespace, { session: params.session, name, sha256 });
      return { name, size, mime_type: mimeType, sha256, download_url: url };
    });
    return { json: { artifacts, left_out: found.leftOut, next: page.next ?? null } };
  },
});
