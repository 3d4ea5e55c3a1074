import { z } from "zod";
import { namespaceOf } from "../../../service/events/event-view.ts";
import { openLinkedFiles } from "../../../service/links/linked-files.ts";
import { HttpError } from "../answers/error-status.ts";
import { linkedReply } from "../answers/linked-reply.ts";
import { type FileReply, sendFile } from "../answers/send-file.ts";
import { defineRoute } from "../route.ts";

export const downloadRoute = defineRoute({
  method: "GET",
  path: "/v1/download/{link}",
  id: "download",
  summary: "Download a file by its link",
  description:
    "Needs no token: anybody with the link can download the file. A link is valid for one session, file, content and expiry time, and only this service can sign it.",
  tag: "artifacts",
  scope: "none",
  params: z.strictObject({ link: z.string().max(4096) }),
  replies: {
    200: { description: "the file", contentType: "application/octet-stream" },
    206: { description: "a part of the file", contentType: "application/octet-stream" },
    410: { description: "the link has expired, or the file has changed" },
  },
  sessionOf({ params, service }) {
    const link = service.links.check(params.link ?? "");
    return link.status === "valid" && namespaceOf(link.claim.session) !== undefined ? link.claim.session : undefined;
  },
  async handle({ params, service, request, signal }) {
    const link = service.links.check(params.link);
    if (link.status === "expired") throw new HttpError("link_expired", "this link has expired");
    if (link.status !== "valid") throw nothingHere();
    const { name, sha256, disposition, session } = link.claim;
    const answer = async () => {
      // the same response for a forged link and for one of a removed tenant
      const opened = await openLinkedFiles(link.claim, service);
      if (!opened) throw nothingHere();
      const { digests, limits } = service;
      const options = { disposition, sha256, digests, stallMs: limits.stallMs, signal };
      return closedAfter(opened, () => sendFile(opened.files, name, request, options));
    };
    const namespace = namespaceOf(session); // a session of the command line has none
    return namespace === undefined ? answer() : linkedReply(service, namespace, request, answer);
  },
});

/** Closes the files after the response. */
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

function nothingHere(): HttpError {
  return new HttpError("not_found", "there is nothing at this path");
}
