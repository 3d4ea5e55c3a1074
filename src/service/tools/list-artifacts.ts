import { z } from "zod";
import { artifactUri } from "../replies/artifact-uri.ts";
import { defineTool } from "./tool.ts";

const pageSize = 200;

export const listArtifactsTool = defineTool({
  name: "list_artifacts",
  title: "List the files of a session",
  description: `List the files in a session's working directory, by path, ${pageSize} at a time. Pass \`next\` of the result as \`after\` to get the next page.`,
  input: z.strictObject({
    session_id: z.string(),
    after: z.string().optional().describe("`next` of the previous page."),
  }),
  output: z.object({
    session_id: z.string(),
    files: z.array(
      z.object({
        ...{ uri: z.string(), name: z.string(), size: z.number(), modified: z.string() },
        download_url: z.string().optional().describe("expiring link for the user or another program"),
      }),
    ),
    next: z.string().nullable(),
    left_out: z.number().describe("number of entries not listed: links, special files, denied names"),
  }),
  effect: "reads",
  async call({ session_id, after }, sandbox) {
    const session = await sandbox.session(session_id);
    const page = await session.listFiles({ limit: pageSize, ...(after === undefined ? {} : { after }) });
    const downloadUrl = await sandbox.linksOf(session_id);
    // A link names the content, so the files are read for it; without a service this costs nothing.
    const found = downloadUrl && (await session.describe(page.files, { cache: sandbox.digests }));
    const links = new Map(found?.artifacts.map(({ name, sha256 }) => [name, downloadUrl?.({ name, sha256 })]));
    const files = page.files.map(({ path, size, modifiedMs }) => {
      const link = links.get(path);
      return {
        ...{ uri: artifactUri(session_id, path), name: path, size, modified: new Date(modifiedMs).toISOString() },
        ...(link === undefined ? {} : { download_url: link }),
      };
    });
    return { facts: { session_id, files, next: page.next ?? null, left_out: page.leftOut } };
  },
});
