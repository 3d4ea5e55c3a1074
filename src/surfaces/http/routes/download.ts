import { z } from "zod";
import type { WorkspaceFiles } from "../../../artifacts/workspace-files.ts";
import { noSuchLink } from "../../../service/links/links.ts";
import { type LocalSession, localSessionOf } from "../../../service/links/local-links.ts";
import { TenantSessions } from "../../../service/tenants/tenant-sessions.ts";
import { auditedFiles } from "../../../sessions/files/audited-files.ts";
import { shownId } from "../../../sessions/session-id.ts";
import { openStoredWorkspace } from "../../../sessions/storage/stored-workspace.ts";
import { type FileReply, sendFile } from "../answers/send-file.ts";
import { defineRoute } from "../route.ts";
import type { HttpService } from "../service.ts";

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
    const { digests, limits } = service;
    const options = { disposition, sha256, digests, stallMs: limits.stallMs };
    const local = localSessionOf(key);
    if (local) {
      const files = await localFiles(service, local);
      return closedAfter(files, () => sendFile(files, name, request, options));
    }
    const namespace = key.slice(0, key.indexOf("."));
    if (!(await service.knowsNamespace(namespace))) throw noSuchLink();
    // through the tenant's own view, so that no answer speaks of namespaces
    const sessions = new TenantSessions(service.manager, namespace, 0);
    const files = await (await sessions.get(shownId(key))).files();
    return sendFile(files, name, request, options);
  },
});

/** Files that were opened for one answer are closed with it. */
async function closedAfter(files: AsyncDisposable, answer: () => Promise<FileReply>): Promise<FileReply> {
  try {
    const { send } = await answer();
    return {
      async send(response, signal) {
        await using _files = files;
        await send(response, signal);
      },
    };
  } catch (error) {
    await files[Symbol.asyncDispose]();
    throw error;
  }
}

/** Of a session that another process of this user has, or had: from the disk, without a cell. */
async function localFiles(service: HttpService, { id, workspace }: LocalSession): Promise<WorkspaceFiles> {
  if (service.stateDir === undefined) throw noSuchLink();
  const files = await openStoredWorkspace(service.stateDir, workspace);
  const written = service.manager.audit;
  return written ? auditedFiles(files, written.audit, id) : files;
}
