/** What a form of a displayed value is on disk. */
export interface DisplayKind {
  readonly extension: string;
  /** also saved when nobody asked for files */
  readonly isPicture: boolean;
}

const kinds: Readonly<Record<string, DisplayKind & { readonly startsWith?: RegExp }>> = {
  "image/png": { extension: "png", isPicture: true, startsWith: /^\x89PNG\r\n/ },
  "image/jpeg": { extension: "jpg", isPicture: true, startsWith: /^\xff\xd8\xff/ },
  "image/gif": { extension: "gif", isPicture: true, startsWith: /^GIF8[79]a/ },
  "image/webp": { extension: "webp", isPicture: true, startsWith: /^RIFF[\s\S]{4}WEBP/ },
  "image/svg+xml": { extension: "svg", isPicture: true, startsWith: /^(?:\xef\xbb\xbf)?\s*</ },
  "text/html": { extension: "html", isPicture: false },
  "text/markdown": { extension: "md", isPicture: false },
  "text/latex": { extension: "tex", isPicture: false },
  "text/csv": { extension: "csv", isPicture: false },
  "application/json": { extension: "json", isPicture: false },
  "application/pdf": { extension: "pdf", isPicture: false, startsWith: /^%PDF-/ },
};

/**
 * The kind of a MIME type; undefined: such displays are not saved. The cell chooses the type, so it never becomes a part of a
 * file's name.
 */
export function displayKind(mime: string): DisplayKind | undefined {
  return knownKind(mime);
}

/** Whether content starts as its type says. The attack: a program or a page that a picture's name makes look harmless. */
export function isOfKind(mime: string, data: Uint8Array): boolean {
  const startsWith = knownKind(mime)?.startsWith;
  return startsWith?.test(Buffer.from(data.subarray(0, 64)).toString("latin1")) ?? true;
}

function knownKind(mime: string) {
  if (Object.hasOwn(kinds, mime)) return kinds[mime];
  // the charts of libraries: application/vnd.vegalite.v5+json
  return /^application\/vnd\.[a-z0-9.-]{1,60}\+json$/.test(mime) ? kinds["application/json"] : undefined;
}
