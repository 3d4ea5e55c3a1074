import { CodecellError } from "../../../lib/errors.ts";

/** A part of a text, by lines. */
export interface TextLines {
  content: string;
  mimeType: string;
  totalLines?: number;
  startLine?: number;
  endLine?: number;
  nextOffset?: number;
}

/** The text of a file; undefined: it is not text. */
export function decodedText(data: Uint8Array): string | undefined {
  if (data.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return undefined;
  }
}

const unknownType = "application/octet-stream";
const mediaTypes: Readonly<Record<string, string>> = {
  ...{ png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp" },
  ...{ pdf: "application/pdf", mp3: "audio/mpeg", wav: "audio/wav", mp4: "video/mp4", webm: "video/webm" },
};

/** The type of a file that is not text, by its name. */
export function binaryType(path: string): string {
  return mediaTypes[path.split(".").at(-1)?.toLowerCase() ?? ""] ?? unknownType;
}

/** The bytes of a new file. deepagents passes images and other media in base64. */
export function encodedContent(path: string, content: string): Uint8Array {
  const compact = content.replace(/\s/g, "");
  const isMedia = binaryType(path) !== unknownType && /^[A-Za-z0-9+/]+={0,2}$/.test(compact);
  return isMedia ? Buffer.from(compact, "base64") : new TextEncoder().encode(content);
}

/** Some lines of a text, from the line `offset`, which counts from 0. */
export function pageOf(text: string, offset: number, limit: number): TextLines {
  const mimeType = "text/plain";
  if (text === "") return { content: "System reminder: File exists but has empty contents", mimeType };
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const totalLines = lines.length;
  const start = Number.isFinite(offset) ? Math.max(0, Math.floor(offset)) : 0;
  const count = Number.isFinite(limit) ? Math.max(0, Math.floor(limit)) : 0;
  if (start >= totalLines) {
    throw new CodecellError("usage", `the file has ${totalLines} lines, and none from offset ${start}`);
  }
  const end = Math.min(start + count, totalLines);
  if (end === start) return { content: "", mimeType };
  return {
    content: lines.slice(start, end).join("\n"),
    ...{ mimeType, totalLines, startLine: start + 1, endLine: end },
    ...(end < totalLines ? { nextOffset: end } : {}),
  };
}

/** A text after a replacement. */
export function editedText(
  text: string,
  old: string,
  replacement: string,
  all: boolean,
): { text: string; occurrences: number } {
  if (old === "") {
    if (text !== "") throw new CodecellError("usage", "the text to replace is empty, and the file is not");
    return { text: replacement, occurrences: 1 };
  }
  const parts = text.split(old);
  const occurrences = parts.length - 1;
  if (occurrences === 0) throw new CodecellError("usage", "the text to replace is not in the file");
  if (occurrences > 1 && !all) {
    const hint = "include more of the lines around it, or replace all";
    throw new CodecellError("usage", `the text to replace is in the file ${occurrences} times`, { hint });
  }
  return { text: parts.join(replacement), occurrences };
}
