import { z } from "zod";
import { artifactUri, shownName } from "../replies/artifact-uri.ts";
import { encodeFileList, fileListSchema, fileSchema } from "../wire/file.ts";
import { sessionArgument } from "./session-argument.ts";
import { defineTool } from "./tool.ts";

const pageSize = 200;

export const listArtifactsTool = defineTool({
  name: "list_artifacts",
  title: "List the files of a session",
  description: `List the files in a session's working directory with their sizes, ${pageSize} at a time.`,
  input: z.strictObject({
    session_id: sessionArgument,
    after: z.string().optional().describe("Last path of the previous page."),
  }),
  output: z.strictObject({
    session_id: z.string(),
    ...fileListSchema.shape,
    files: z.array(z.strictObject({ uri: z.string(), ...fileSchema.shape })),
  }),
  effect: "reads",
  async call({ session_id, after }, sandbox) {
    const session = await sandbox.session(session_id);
    const { id } = session;
    const page = await session.listFiles({ limit: pageSize, ...(after === undefined ? {} : { after }) });
    const downloadUrl = await sandbox.linksOf(id);
    // A link contains the digest of the file, so each file must be read. Skip that if no service serves links.
    const found = downloadUrl && (await session.describe(page.files, { cache: sandbox.digests }));
    const links = new Map(found?.artifacts.map(({ name, sha256 }) => [name, downloadUrl?.({ name, sha256 })]));
    const list = encodeFileList(page, links);
    const files = list.files.map((file) => ({ uri: artifactUri(id, file.name), ...file }));
    const facts = { session_id: id, ...list, files };
    return { facts, text: listText(facts) };
  },
});

type Listed = Readonly<Pick<z.output<typeof fileListSchema>, "files" | "next" | "left_out" | "truncated">>;

/** One line per file. */
function listText({ files, next, left_out, truncated }: Listed): string {
  const lines = files.map(
    ({ name, size, download_url }) => `${size} ${shownName(name)}${download_url ? ` ${download_url}` : ""}`,
  );
  return [
    ...(lines.length > 0 ? ["bytes path", ...lines] : ["no files"]),
    ...(left_out > 0 ? [`${left_out} links, special files or denied names are not listed`] : []),
    ...(next === null ? [] : [`more: pass after=${JSON.stringify(next)}`]),
    ...(truncated ? ["the directory has more files than can be listed"] : []),
  ].join("\n");
}
