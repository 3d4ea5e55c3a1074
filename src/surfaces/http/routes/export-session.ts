import { z } from "zod";
import { exportFormats, exportHistory, exportTypes } from "../../../service/notebook/export-history.ts";
import { builtInTurn } from "../answers/built-in-turn.ts";
import { fileHeaders } from "../answers/file-headers.ts";
import { pageLimit, sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

/** Of displayed values, in the form `json`. */
const displayBytes = 32 * 1024 * 1024;

export const exportSessionRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/export",
  id: "exportSession",
  summary: "Download the runs of a session as a notebook, a Python script or JSON",
  description:
    "Has the outputs that the history keeps. In a script, outputs are comments, and so is code that failed or that is not Python.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  query: z.strictObject({
    format: z.enum(exportFormats).default("ipynb"),
    limit: pageLimit.default(1000).describe("the last runs"),
  }),
  replies: { 200: { description: "the file", contentType: exportTypes.ipynb } },
  async handle({ params, query, tenant, memory, signal }) {
    const session = await tenant.sessions.get(params.session);
    const { format, limit } = query;
    const bytes = await builtInTurn({ queue: tenant.exports, memory, signal }, async () => {
      const runs = await session.history({ limit, outputs: true });
      return Buffer.from(await exportHistory(session.id, runs, format, displayBytes));
    });
    const type = exportTypes[format];
    const { "accept-ranges": _, ...headers } = fileHeaders(`${session.id}.${format}`, type, "attachment");
    return { bytes: [bytes], contentType: type, headers: { ...headers, "content-type": type } };
  },
});
