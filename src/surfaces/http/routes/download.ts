import { z } from "zod";
import { openLinkedFiles } from "../../../service/links/linked-files.ts";
import { HttpError } from "../answers/error-status.ts";
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
  async handle({ params, service, request, signal }) {
    const link = service.links.check(params.link);
    if (link.status === "expired") throw new HttpError("link_expired", "this link has expired");
    // the same response for a forged link and for one of a removed tenant
    const opened = link.status === "valid" ? await openLinkedFiles(link.claim, service) : undefined;
    if (link.status !== "valid" || !opened) throw new HttpError("not_found", "there is nothing at this path");
    const { name, sha256, disposition } = link.claim;
    const { digests, limits } = service;
    const options = { disposition, sha256, digests, stallMs: limits.stallMs, signal };
    return closedAfter(opened, () => sendFile(opened.files, name, request, options));
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
