import { z } from "zod";
import type { CodecellError } from "../../../lib/errors.ts";
import { namespaceOf } from "../../../service/events/event-view.ts";
import { displayContent } from "../../../service/links/display-link.ts";
import { openLinkedSession } from "../../../service/links/linked-session.ts";
import { builtInTurn } from "../answers/built-in-turn.ts";
import { displayHeaders } from "../answers/display-headers.ts";
import { displayPage } from "../answers/display-page.ts";
import { HttpError } from "../answers/error-status.ts";
import { linkedReply } from "../answers/linked-reply.ts";
import { sendBody } from "../answers/send-body.ts";
import { defineRoute } from "../route.ts";

export const showDisplayRoute = defineRoute({
  method: "GET",
  path: "/v1/display/{link}",
  id: "showDisplay",
  summary: "Show HTML or SVG that a run displayed, by its link",
  description:
    "Needs no token: anybody with the link can see the display. The response has a content security policy that stops scripts, forms and requests.",
  tag: "artifacts",
  scope: "none",
  params: z.strictObject({ link: z.string().max(4096) }),
  replies: {
    200: { description: "the display", contentType: "text/html" },
    410: { description: "the link has expired, or the display is no longer kept" },
  },
  sessionOf({ params, service }) {
    const link = service.links.checkDisplay(params.link ?? "");
    return link.status === "valid" && namespaceOf(link.claim.session) !== undefined ? link.claim.session : undefined;
  },
  async handle({ params, service, request, signal }) {
    const link = service.links.checkDisplay(params.link);
    if (link.status === "expired") throw new HttpError("link_expired", "this link has expired");
    const namespace = link.status === "valid" ? namespaceOf(link.claim.session) : undefined;
    if (link.status !== "valid" || namespace === undefined) throw nothingHere();
    return linkedReply(service, namespace, request, async ({ tenant, memory }) => {
      // the same response for a forged link and for one of a removed tenant
      const session = await openLinkedSession(link.claim.session, service);
      if (!session) throw nothingHere();
      const { mimeType, sha256 } = link.claim;
      const page = await builtInTurn({ queue: tenant.linkedExports, memory, signal }, async () => {
        const content = await displayContent(session, link.claim).catch((error: CodecellError) => {
          if (error.code === "output_gone") return undefined;
          throw error;
        });
        if (content?.sha256 !== sha256) throw new HttpError("link_stale", "this display is no longer kept");
        return displayPage(mimeType, content.data);
      });
      const limits = { memory, stallMs: service.limits.stallMs, gone: () => signal };
      const body = { headers: displayHeaders(mimeType), parts: [page] };
      return { send: (response) => sendBody(request, response, body, limits) };
    });
  },
});

function nothingHere(): HttpError {
  return new HttpError("not_found", "there is nothing at this path");
}
