import { z } from "zod";
import { artifactUri } from "../replies/artifact-uri.ts";
import { encodeFileList, fileListSchema, fileSchema } from "../wire/file.ts";
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
  output: z.strictObject({
    session_id: z.string(),
    ...fileListSchema.shape,
    files: z.array(z.strictObject({ uri: z.string(), ...fileSchema.shape })),
  }),
  effect: "reads",
  async call({ session_id, after }, sandbox) {
    const session = await sandbox.session(session_id);
    const page = await session.listFiles({ limit: pageSize, ...(after === undefined ? {} : { after }) });
    const downloadUrl = await sandbox.linksOf(session_id);
    // A link contains the digest of the file, so each file must be read. Skip that if no service serves links.
    const found = downloadUrl && (await session.describe(page.files, { cache: sandbox.digests }));
    const links = new Map(found?.artifacts.map(({ name, sha256 }) => [name, downloadUrl?.({ name, sha256 })]));
    const list = encodeFileList(page, links);
    const files = list.files.map((file) => ({ uri: artifactUri(session_id, file.name), ...file }));
    return { facts: { session_id, ...list, files } };
  },
});
