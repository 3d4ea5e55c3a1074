/** How a file is shown. */
export type FileKind =
  | { readonly kind: "empty" }
  | { readonly kind: "image"; readonly type: string }
  | { readonly kind: "table"; readonly separator: string }
  | { readonly kind: "json" }
  | { readonly kind: "notebook" }
  | { readonly kind: "text" }
  | { readonly kind: "binary" };

/** Pure: decided by the first bytes, and for text by the name. A name alone never makes a file an image. */
export function fileKind(name: string, head: Uint8Array): FileKind {
  if (head.byteLength === 0) return { kind: "empty" };
  const type = imageType(head);
  if (type !== undefined) return { kind: "image", type };
  if (textOf(head) === undefined) return { kind: "binary" };
  const extension = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase();
  if (extension === "csv") return { kind: "table", separator: "," };
  if (extension === "tsv" || extension === "tab") return { kind: "table", separator: "\t" };
  if (extension === "json") return { kind: "json" };
  if (extension === "ipynb") return { kind: "notebook" };
  return { kind: "text" };
}

/** Pure: the type of an image that a browser shows without running anything. SVG is not one of them. */
export function imageType(head: Uint8Array): string | undefined {
  const begins = (text: string, at = 0) =>
    [...text].every((character, index) => head[at + index] === character.charCodeAt(0));
  if (begins("\x89PNG\r\n\x1a\n")) return "image/png";
  if (begins("\xff\xd8\xff")) return "image/jpeg";
  if (begins("GIF87a") || begins("GIF89a")) return "image/gif";
  if (begins("RIFF") && begins("WEBP", 8)) return "image/webp";
  return undefined;
}

/** Pure: the text of bytes that may end within a character; undefined: they are not text. */
export function textOf(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true });
  } catch {
    return undefined;
  }
}

/** Pure: bytes as a table of hexadecimal numbers and the characters they stand for. */
export function hexDump(bytes: Uint8Array, maxBytes = 256): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.byteLength, maxBytes); at += 16) {
    const part = [...bytes.subarray(at, Math.min(at + 16, maxBytes))];
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ");
    const shown = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${shown}`);
  }
  return lines.join("\n");
}
