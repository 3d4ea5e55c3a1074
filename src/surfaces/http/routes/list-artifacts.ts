import { z } from "zod";
import {
  artifactSchema,
  type DownloadUrl,
  encodeArtifact,
  encodeLeftOut,
  leftOutSchema,
} from "../../../service/wire/artifact.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const pageSize = 100;

const artifactsSchema = z.strictObject({
  artifacts: z.array(artifactSchema),
  left_out: z.array(leftOutSchema),
  next: z.string().nullable().describe("`after` of the next page"),
  truncated: z.boolean().describe("there are more entries or deeper directories than codecell lists"),
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
    const options = {
      limit: pageSize,
      ...(prefix === undefined ? {} : { prefix }),
      ...(after === undefined ? {} : { after }),
    };
    const page = await tenant.listings.run(() => session.listFiles(options), signal);
    const found = await session.describe(page.files, { cache: service.digests, signal });
    const link: DownloadUrl = (file) => service.links.url(tenant.namespace, { session: params.session, ...file }).url;
    const artifacts = found.artifacts.map((artifact) => encodeArtifact(artifact, link));
    const leftOut = found.leftOut.map(encodeLeftOut);
    return { json: { artifacts, left_out: leftOut, next: page.next ?? null, truncated: page.truncated } };
  },
});
