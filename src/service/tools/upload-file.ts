import { z } from "zod";
import { CodecellError } from "../../lib/errors.ts";
import { defineTool } from "./tool.ts";

export const uploadFileTool = defineTool({
  name: "upload_file",
  title: "Put a file into a session",
  description: `Write a file to a session's working directory; code opens it by the same path. Give \`content\` for text, or \`content_base64\` for bytes. Without session_id a new session starts, and its id is returned. For large project files use rlm_load instead: it does not pass them through the conversation.`,
  input: z.strictObject({
    path: z.string().describe("Path in the working directory, such as data/input.csv."),
    content: z.string().optional().describe("Text."),
    content_base64: z.string().optional().describe("Bytes as base64."),
    session_id: z
      .string()
      .optional()
      .describe("session_id that an earlier call returned; omit it to start a new session."),
  }),
  output: z.strictObject({ session_id: z.string(), name: z.string(), size: z.int().describe("bytes") }),
  effect: "destroys", // it replaces an existing file with this name
  isIdempotent: true,
  async call({ path, content, content_base64, session_id }, sandbox, { signal }) {
    const data = contentOf(content, content_base64);
    const session = await sandbox.session(session_id);
    const { size } = await session.upload(path, data, signal);
    sandbox.artifactsChanged();
    return { facts: { session_id: session.id, name: path, size } };
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
