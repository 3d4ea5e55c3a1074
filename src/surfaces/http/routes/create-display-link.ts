import { z } from "zod";
import { type DisplayType, displayContent, displayTypes } from "../../../service/links/display-link.ts";
import { encodeTime, timestamp } from "../../../service/wire/timestamp.ts";
import { HttpError } from "../answers/error-status.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const defaultSeconds = 600;
const maxSeconds = 3_600;

export const createDisplayLinkRoute = defineRoute({
  method: "POST",
  path: "/v1/sessions/{session}/displays",
  id: "createDisplayLink",
  summary: "Create a link to HTML or SVG that a run displayed",
  description:
    "Anybody who has the link can see this display without a token until the link expires. The page cannot run scripts, load anything or reach the service.",
  tag: "artifacts",
  scope: "read",
  params: sessionParams,
  body: z.strictObject({
    run: z.int().min(1).describe("number of the run in its session"),
    display: z.int().min(0).describe("number of the displayed value, as in the history"),
    mime_type: z
      .string()
      .max(200)
      .describe(`one of ${displayTypes.join(", ")}`),
    expires_in: z.int().min(1).max(maxSeconds).default(defaultSeconds).describe("seconds"),
  }),
  replies: {
    201: {
      description: "the link",
      schema: z.strictObject({
        url: z.string(),
        path: z.string().describe("the same without the address, for pages of the service itself"),
        expires_at: timestamp,
      }),
    },
    415: { description: "a display of this type has no link" },
  },
  async handle({ params, body, tenant, service }) {
    const mimeType = displayTypeOf(body.mime_type);
    const { run, display, expires_in } = body;
    const session = await tenant.sessions.get(params.session);
    const { sha256 } = await tenant.exports.run(() => displayContent(session, { run, display, mimeType }));
    const claim = { session: params.session, run, display, mimeType, sha256 };
    const { url, path, expiresMs } = service.links.display(tenant.namespace, claim, expires_in * 1000);
    return { status: 201, json: { url, path, expires_at: encodeTime(expiresMs) } };
  },
});

function displayTypeOf(text: string): DisplayType {
  const known = displayTypes.find((type) => type === text);
  if (known) return known;
  throw new HttpError("bad_request", `only displays of type ${displayTypes.join(" and ")} have links`, {
    status: 415,
    hint: "…/history?outputs=true contains displays of other types",
  });
}
