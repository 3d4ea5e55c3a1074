import { z } from "zod";
import { shownId } from "../../../sessions/session-id.ts";
import { TenantSessions } from "../../../sessions/tenant-sessions.ts";
import { noSuchLink } from "../links.ts";
import { defineRoute } from "../route.ts";
import { sendFile } from "../send-file.ts";

export const downloadRoute = defineRoute({
  method: "GET",
  path: "/v1/download/{link}",
  id: "download",
  summary: "Download what a link names",
  description:
    "The link is the permission: it names session, file, content and time, and only this service can sign one.",
  tag: "artifacts",
  scope: "none",
  params: z.strictObject({ link: z.string().max(4096) }),
  replies: {
    200: { description: "the file", contentType: "application/octet-stream" },
    206: { description: "a part of it", contentType: "application/octet-stream" },
    410: { description: "the link has expired, or the file is another one by now" },
  },
  async handle({ params, service, request }) {
    const { session: key, name, sha256, disposition } = service.links.claimOf(params.link);
    const namespace = key.slice(0, key.indexOf("."));
    if (!(await service.knowsNamespace(namespace))) throw noSuchLink();
    // through the tenant's own view, so that no answer speaks of namespaces
    const sessions = new TenantSessions(service.manager, namespace, 0);
    const files = await (await sessions.get(shownId(key))).files();
    const { digests, limits } = service;
    return sendFile(files, name, request, { disposition, sha256, digests, stallMs: limits.stallMs });
  },
});
