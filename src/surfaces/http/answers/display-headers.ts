import type { DisplayType } from "../../../service/links/display-link.ts";

/** Each directive stops one way in which a page that a cell wrote could act as its reader. */
const contentSecurityPolicy = [
  "sandbox", // scripts, forms, popups, downloads and the service's origin with its storage: the page gets none of them
  "default-src 'none'", // scripts once more, frames and plugins; requests that tell a stranger who reads the page and when
  "style-src 'unsafe-inline'", // tables and plots have inline styles; a style sheet from elsewhere would be such a request
  "img-src data:", // a picture from elsewhere would be such a request
  "font-src data:", // and so would a font
  "base-uri 'none'", // <base>, which sends relative links of the page elsewhere
  "form-action 'none'", // a form that asks for a password, where a browser ignores `sandbox`
  "frame-ancestors 'self'", // another site that frames the page and makes its reader click in it
].join("; ");

/** Headers for HTML or SVG that a program in a cell displayed. */
export function displayHeaders(mimeType: DisplayType): Record<string, string> {
  return {
    // Without a charset, a page in another encoding could hide markup from those who checked it.
    "content-type": `${mimeType}; charset=utf-8`,
    "content-security-policy": contentSecurityPolicy,
    "x-content-type-options": "nosniff", // a browser that takes the bytes for another type, such as a script
    "referrer-policy": "no-referrer", // the link is in the address: who gets it can open it
    "cross-origin-resource-policy": "same-origin", // another site that loads it and measures what it contains
    "x-dns-prefetch-control": "off", // names of hosts in the page, looked up before anybody clicks
    "cache-control": "private, no-store", // a copy that is there after the link has expired
  };
}
