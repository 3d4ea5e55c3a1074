import { isActiveType } from "../../../service/files/served-file.ts";

/** What a browser may show inline: these types run no code. */
const shownInPlace = /^(?:image\/(?:png|jpeg|gif|webp|bmp)|text\/plain; charset=utf-8)$/;

/**
 * Headers for a file from a cell. The attack: a program writes a web page, and whoever opens the link runs it in the
 * service's origin. So active types are sent as bytes, sniffing is off, everything else is sandboxed, and it is a download
 * unless the caller asked to see an image or plain text.
 */
export function fileHeaders(
  name: string,
  mimeType: string,
  disposition: "attachment" | "inline",
): Record<string, string> {
  const type = isActiveType(mimeType) ? "application/octet-stream" : mimeType;
  const shown = disposition === "inline" && shownInPlace.test(type) ? "inline" : "attachment";
  const base = name.split("/").at(-1) ?? name;
  const ascii = base.replace(/[^\w.-]/g, "_");
  // RFC 8187 leaves fewer characters as they are than encodeURIComponent does
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
    "referrer-policy": "no-referrer", // the link is the permission
    "cache-control": "private, no-store",
    "accept-ranges": "bytes",
  };
}
