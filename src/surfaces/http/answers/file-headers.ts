import { isActiveType } from "../../../service/files/served-file.ts";

/** Types that a browser may show inline, because they run no code. */
const inlineTypes = /^(?:image\/(?:png|jpeg|gif|webp|bmp)|text\/plain; charset=utf-8)$/;

/**
 * Headers for a file from a cell. The attack: a program writes a web page, and a user who opens the link runs it in the
 * service's origin. So active types are sent as bytes, sniffing is off, everything else is sandboxed, and only images and
 * plain text can be shown inline.
 */
export function fileHeaders(
  name: string,
  mimeType: string,
  disposition: "attachment" | "inline",
): Record<string, string> {
  const type = isActiveType(mimeType) ? "application/octet-stream" : mimeType;
  const shown = disposition === "inline" && inlineTypes.test(type) ? "inline" : "attachment";
  const base = name.split("/").at(-1) ?? name;
  const ascii = base.replace(/[^\w.-]/g, "_");
  // RFC 8187 also encodes these characters, which encodeURIComponent does not
  const encoded = encodeURIComponent(base).replace(
    /['()*!]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return {
    "content-type": type,
    "content-disposition": `${shown}; filename="${ascii}"; filename*=UTF-8''${encoded}`,
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer", // anybody with the link can download the file
    "cache-control": "private, no-store",
    "accept-ranges": "bytes",
  };
}
