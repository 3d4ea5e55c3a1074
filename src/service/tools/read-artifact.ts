import { z } from "zod";
import { loadOnce } from "../../lib/load-once.ts";
import type { ArtifactContent } from "../replies/artifact-content.ts";
import { artifactUri, shownName } from "../replies/artifact-uri.ts";
import { sessionArgument } from "./session-argument.ts";
import { defineTool, type ToolContent } from "./tool.ts";

const reading = loadOnce(() => import("../replies/artifact-content.ts"));

export const readArtifactTool = defineTool({
  name: "read_artifact",
  title: "Read a file of a session",
  description:
    "Read a file that code wrote or that was uploaded: text (48 KiB per call), PNG as an image, anything else as base64 (512 KiB). Reduce a large file with code instead.",
  input: z.strictObject({
    name: z.string().describe("Its path."),
    session_id: sessionArgument,
    start: z.int().min(0).optional().describe("First byte."),
    end: z.int().min(0).optional().describe("Byte to stop before."),
  }),
  output: z.object({
    uri: z.string(),
    name: z.string(),
    mime_type: z.string(),
    size: z.int().describe("bytes of the whole file"),
    start: z.number(),
    end: z.number(),
    next: z.number().nullable().describe("`start` of the next part; null at the end"),
    form: z.enum(["text", "image", "base64"]),
    text: z.string().nullable().describe("the content, when it is text"),
  }),
  effect: "reads",
  isLarge: true,
  async call({ session_id, name, start, end }, sandbox) {
    const session = await sandbox.session(session_id);
    const { artifactContent } = await reading();
    const content = await artifactContent(await session.files(), name, { start, end });
    const uri = artifactUri(session.id, name);
    const { mimeType, size, body } = content;
    const facts = {
      ...{ uri, name, mime_type: mimeType, size, start: content.start, end: content.end },
      next: content.end < size ? content.end : null,
      form: body.as,
      text: body.as === "text" ? body.text : null,
    };
    const isWhole = content.start === 0 && content.end >= size;
    const part = isWhole ? `${size} bytes` : `bytes ${content.start} to ${content.end} of ${size}`;
    const isAfterEnd = !isWhole && content.start === size;
    const rest = facts.next === null ? "" : `; continue with start=${facts.next}`;
    // Only this line is ours, and the file starts below it, whatever it contains.
    const where = `${shownName(name)} (${mimeType}), ${isAfterEnd ? `end of the file at byte ${size}` : `${part}${rest}`}`;
    return { facts, text: body.as === "text" ? `${where}\n${body.text}` : where, more: blocks(uri, content) };
  },
});

function blocks(uri: string, { mimeType, body }: ArtifactContent): ToolContent[] {
  if (body.as === "text") return [];
  const base64 = Buffer.from(body.data).toString("base64");
  if (body.as === "image") return [{ type: "image", data: base64, mimeType }];
  return [{ type: "resource", resource: { uri, mimeType, blob: base64 } }];
}
