import { z } from "zod";
import { describeFile } from "../../../service/files/describe-file.ts";
import { defaultLinkMs, maxLinkMs } from "../../../service/links/links.ts";
import { encodeTime, timestamp } from "../../../service/wire/timestamp.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

export const createLinkRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/links",
  id: "createLink",
  summary: "Create a link to the current content of a file",
  description: "Anybody who has the link can download this content without a token until the link expires.",
  tag: "artifacts",
  scope: "read",
  params: sessionParams,
  body: z.strictObject({
    path: z.string(),
    expires_in: z
      .number()
      .int()
      .min(1)
      .max(maxLinkMs / 1000)
      .default(defaultLinkMs / 1000)
      .describe("seconds"),
    disposition: z.enum(["attachment", "inline"]).default("attachment"),
  }),
  replies: {
    201: {
      description: "the link",
      schema: z.strictObject({
        ...{ url: z.string(), name: z.string(), sha256: z.string() },
        ...{ size: z.int().describe("bytes"), expires_at: timestamp },
      }),
    },
  },
  async handle({ params, body, tenant, service, signal }) {
    const session = await tenant.sessions.get(params.session);
    const { name, size, sha256 } = await describeFile(session, body.path, { cache: service.digests, signal });
    const options = { forMs: body.expires_in * 1000, disposition: body.disposition };
    const { url, expiresMs } = service.links.url(tenant.namespace, { session: params.session, name, sha256 }, options);
    return { status: 201, json: { url, name, sha256, size, expires_at: encodeTime(expiresMs) } };
  },
});
