const octets = "application/octet-stream";

const byExtension: Readonly<Record<string, string>> = {
  ...{ txt: "text/plain", log: "text/plain", md: "text/markdown", csv: "text/csv", tsv: "text/tab-separated-values" },
  ...{ py: "text/x-python", sh: "text/x-shellscript", css: "text/css", yaml: "text/yaml", yml: "text/yaml" },
  ...{
    html: "text/html",
    htm: "text/html",
    xhtml: "application/xhtml+xml",
    js: "text/javascript",
    mjs: "text/javascript",
  },
  ...{ svg: "image/svg+xml", xml: "application/xml", json: "application/json", jsonl: "application/jsonl" },
  ...{ ipynb: "application/x-ipynb+json", geojson: "application/geo+json" },
  ...{
    png: "image/png",
    jpg: "image/jpeg",
    jpeg: "image/jpeg",
    gif: "image/gif",
    webp: "image/webp",
    bmp: "image/bmp",
  },
  ...{ ico: "image/x-icon", tif: "image/tiff", tiff: "image/tiff", pdf: "application/pdf" },
  ...{ zip: "application/zip", gz: "application/gzip", tgz: "application/gzip", tar: "application/x-tar" },
  ...{ sqlite: "application/vnd.sqlite3", sqlite3: "application/vnd.sqlite3", db: "application/vnd.sqlite3" },
  ...{
    parquet: "application/vnd.apache.parquet",
    arrow: "application/vnd.apache.arrow.file",
    wasm: "application/wasm",
  },
  ...{ mp3: "audio/mpeg", wav: "audio/wav", ogg: "audio/ogg", mp4: "video/mp4", webm: "video/webm" },
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
};

const signatures: readonly (readonly [mimeType: string, bytes: string])[] = [
  ["image/png", "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", "\xff\xd8\xff"],
  ["image/gif", "GIF87a"],
  ["image/gif", "GIF89a"],
  ["application/pdf", "%PDF-"],
  ["application/zip", "PK\x03\x04"],
  ["application/zip", "PK\x05\x06"],
  ["application/vnd.sqlite3", "SQLite format 3\0"],
];
const recognised = new Set(signatures.map(([mimeType]) => mimeType));
/** formats that are zip archives */
const zipped = /^application\/vnd\.openxmlformats-|^application\/zip$/;

/** How many bytes `mimeTypeOf` needs from the start of a file. */
export const mimeHeadBytes = 512;

/**
 * The type of a file by its content if that is clear, else by its extension. If the content contradicts the extension, it is
 * `application/octet-stream`. The attack: a script that is served as an image.
 */
export function mimeTypeOf(name: string, head: Uint8Array): string {
  const claimed = byExtension[/\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? ""] ?? octets;
  const start = Buffer.from(head.buffer, head.byteOffset, Math.min(head.byteLength, 16)).toString("latin1");
  const found = signatures.find(([, bytes]) => start.startsWith(bytes))?.[0];
  if (found !== undefined) return found === "application/zip" && zipped.test(claimed) ? claimed : found;
  if (recognised.has(claimed) || zipped.test(claimed)) return octets;
  if (!isTextual(claimed)) return claimed;
  if (!isUtf8Start(head)) return octets;
  return claimed.startsWith("text/") ? `${claimed}; charset=utf-8` : claimed;
}

/** Whether a browser would run scripts in this type. Such a file is downloaded, never shown inline. */
export function isActiveType(mimeType: string): boolean {
  const [type = ""] = mimeType.toLowerCase().split(";");
  return /^text\/html$|^image\/svg|[/+]xml$|[/-](?:java|ecma)script$/.test(type.trim());
}

function isTextual(mimeType: string): boolean {
  return /^text\/|[/+](?:json|jsonl|xml)$/.test(mimeType);
}

/** The last character may be truncated, so up to three bytes at the end are ignored. */
function isUtf8Start(head: Uint8Array): boolean {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  try {
    return !decoder.decode(head.subarray(0, mimeHeadBytes), { stream: true }).includes("\0");
  } catch {
    return false;
  }
}
