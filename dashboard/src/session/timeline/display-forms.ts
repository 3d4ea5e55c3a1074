import { prettyJson } from "../../parts/text/pretty-json.ts";

/** How a display is shown, decided by its forms. */
export type ShownDisplay =
  | { readonly as: "picture"; readonly mimeType: string; readonly base64: string }
  | { readonly as: "frame"; readonly mimeType: "text/html" | "image/svg+xml"; readonly source: string | null }
  | { readonly as: "json"; readonly value: unknown; readonly text: string }
  | { readonly as: "text"; readonly text: string }
  | { readonly as: "missing"; readonly mimeTypes: readonly string[] };

const pictures = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/png;preview=true"];
const frames = ["text/html", "image/svg+xml"] as const;
const texts = ["text/markdown", "text/latex", "text/plain"];

/** Pure: the best form of a display that the page can show safely. HTML and SVG are only shown in a frame of their own. */
export function shownDisplay(forms: ReadonlyMap<string, string | null>): ShownDisplay {
  for (const mimeType of pictures) {
    const base64 = forms.get(mimeType);
    if (typeof base64 === "string") return { as: "picture", mimeType: mimeType.replace(/;.*/, ""), base64 };
  }
  for (const mimeType of frames) {
    const base64 = forms.get(mimeType);
    if (base64 !== undefined) return { as: "frame", mimeType, source: base64 === null ? null : decodeText(base64) };
  }
  const json = forms.get("application/json");
  if (typeof json === "string") {
    const source = decodeText(json);
    const pretty = prettyJson(source); // from the text: `JSON.stringify` throws at thousands of levels, and the page would be empty
    return pretty ? { as: "json", value: JSON.parse(source), text: pretty.text } : { as: "text", text: source };
  }
  const text = plainText(forms);
  return text === undefined ? { as: "missing", mimeTypes: [...forms.keys()] } : { as: "text", text };
}

/** Pure: the form that is text, for who cannot see the other one. */
export function plainText(forms: ReadonlyMap<string, string | null>): string | undefined {
  for (const mimeType of [...texts].reverse()) {
    const base64 = forms.get(mimeType);
    if (typeof base64 === "string") return decodeText(base64);
  }
  return undefined;
}

export function decodeBytes(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

export function decodeText(base64: string): string {
  return new TextDecoder().decode(decodeBytes(base64));
}

/** Pure: width and height of a PNG, so that the page does not jump when it is drawn. */
export function pngSize(bytes: Uint8Array): { width: number; height: number } | undefined {
  if (bytes.byteLength < 24 || bytes[1] !== 0x50 || bytes[2] !== 0x4e) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  return width > 0 && width < 20_000 && height > 0 && height < 20_000 ? { width, height } : undefined;
}

/** Of a page, to guess its height. The attack: megabytes in which each word is the beginning of a picture. */
const lookedAt = 64 * 1024;

/**
 * Pure: how high a frame is at first. A page in a sandbox cannot say how high it is, so this counts its lines, which are as high as
 * the style sheet of displays makes them (src/surfaces/http/answers/display-page.ts). The user can make it higher.
 */
export function frameHeight(source: string | null): number {
  if (source === null) return 240;
  const visible = source.slice(0, lookedAt).replace(/<style\b[^<]{0,20000}<\/style>/gi, "");
  const rows = visible.match(/<(?:tr|p|li|br|hr|h\d|pre|summary|dt|dd)\b/gi)?.length ?? 0;
  const svg = /<svg[^<>]{0,2000}?\sheight="(\d{1,5})(?:px|pt)?"/i.exec(visible)?.[1];
  const wanted = svg === undefined ? 24 + Math.max(1, rows) * 26 : Number(svg) * 1.4 + 24;
  return Math.min(520, Math.max(48, Math.round(wanted)));
}
