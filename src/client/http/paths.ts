import { CodecellError } from "../../lib/errors.ts";

/**
 * One segment of a path. The attack: `..` as the name of a session or a file reaches another route, because URLs resolve `..`
 * and even `%2e%2e`. Everything else is safe once it is encoded.
 */
export function segment(text: string, what: string): string {
  const encoded = typeof text === "string" ? encodedOrNothing(text) : "";
  if (encoded !== "" && text !== "." && text !== "..") return encoded;
  const shown = JSON.stringify(text)?.slice(0, 80);
  throw new CodecellError("usage", `${shown} is not ${what}`, { hint: `use ${what} that the session has` });
}

/** The path of a file, with its slashes. */
export function fileSegments(path: string): string {
  const parts = typeof path === "string" ? path.split("/") : [];
  const encoded = parts.map((part) => (part === "." || part === ".." ? "" : encodedOrNothing(part)));
  if (parts.length > 0 && !encoded.includes("")) return encoded.join("/");
  throw new CodecellError("file_refused", `${JSON.stringify(path)?.slice(0, 200)} is not the path of a file`, {
    hint: "use a path below the workspace, such as data/in.csv, without `.` and `..`",
  });
}

/** Lone surrogates have no UTF-8 form. */
function encodedOrNothing(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return "";
  }
}
