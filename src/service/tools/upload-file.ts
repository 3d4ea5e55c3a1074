import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { sessionArgument } from "./session-argument.ts";
import { defineTool } from "./tool.ts";

export const uploadFileTool = defineTool({
  name: "upload_file",
  title: "Put a file into a session",
  description: "Write a file into a session's working directory; code opens it by the same path.",
  input: z.strictObject({
    path: z.string().describe("Such as data/input.csv."),
    content: z.string().optional().describe("Text, or"),
    content_base64: z.string().optional().describe("bytes."),
    delete: z.literal(true).optional().describe("Delete the file instead."),
    session_id: sessionArgument,
  }),
  output: z.strictObject({
    session_id: z.string(),
    name: z.string(),
    size: z.int().describe("bytes").optional(),
    deleted: z.literal(true).optional(),
  }),
  effect: "destroys", // it replaces or deletes an existing file with this name
  isIdempotent: true,
  nextSteps: { too_large: "make room with delete=true or in code, or write less" },
  async call({ path, content, content_base64, delete: isDeletion, session_id }, sandbox, { signal }) {
    if (isDeletion) {
      if (content !== undefined || content_base64 !== undefined) {
        throw new CodecellError("usage", "delete needs a path and no content");
      }
      const session = await sandbox.session(session_id);
      await session.removeFile(path);
      sandbox.artifactsChanged();
      const text = `deleted ${path}${sandbox.mention(session.id)}`;
      return { facts: { session_id: session.id, name: path, deleted: true as const }, text };
    }
    const data = contentOf(content, content_base64);
    const session = await sandbox.session(session_id);
    const { size } = await session.upload(path, data, signal);
    sandbox.artifactsChanged();
    const text = `wrote ${size} bytes to ${path}${sandbox.mention(session.id)}`;
    return { facts: { session_id: session.id, name: path, size }, text };
  },
});

function contentOf(text: string | undefined, base64: string | undefined): Buffer {
  if ((text === undefined) === (base64 === undefined)) {
    throw new CodecellError("usage", "give either content or content_base64");
  }
  if (base64 === undefined) return Buffer.from(text ?? "");
  const compact = base64.replace(/\s+/g, "");
  // Node would skip invalid characters and write wrong data.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 !== 0) {
    throw new CodecellError("usage", "content_base64 is not base64", { hint: "use content for text" });
  }
  return Buffer.from(compact, "base64");
}
