import type { IncomingMessage, ServerResponse } from "node:http";
import { HttpError } from "../answers/error-status.ts";
import type { DashboardFiles, PageFile } from "./dashboard-files.ts";

/**
 * The attack: text from a cell that the page shows becomes markup. Then nothing of it can run, load, frame or send anything:
 * scripts and styles come from files of this service only, and every request goes to this service.
 */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' blob: data:",
  "frame-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const headers = {
  "content-security-policy": contentSecurityPolicy,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin", // a page that opened this one gets no handle to it
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

const oneYear = "public, max-age=31536000, immutable";

/** Sends a file of the dashboard. The files are public: they hold no data, and every call of the page needs a token. */
export async function sendPage(
  files: DashboardFiles,
  pathname: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method } = request;
  if (method !== "GET" && method !== "HEAD") {
    throw new HttpError("method_not_allowed", "this path accepts GET", { headers: { allow: "GET" } });
  }
  const file = await files.find(pathname);
  if (!file) {
    throw new HttpError("not_found", "the dashboard is not there", {
      ...(pathname === "/" ? { hint: "run `npm run build` in the source tree; the API is at /v1" } : {}),
    });
  }
  const { body, encoding } = encoded(file, request);
  response.writeHead(200, {
    ...headers,
    ...encoding,
    vary: "accept-encoding",
    "content-type": file.contentType,
    "content-length": String(body.byteLength),
    "cache-control": file.isImmutable ? oneYear : "no-cache",
  });
  response.end(method === "HEAD" ? undefined : body);
}

function encoded({ bytes, gzipped }: PageFile, { headers: { "accept-encoding": accepted } }: IncomingMessage) {
  const isGzip = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|$))/.test(String(accepted ?? ""));
  return isGzip ? { body: gzipped, encoding: { "content-encoding": "gzip" } } : { body: bytes, encoding: {} };
}
