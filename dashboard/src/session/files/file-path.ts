import { type SessionRef, sessionPath } from "../../api/client.ts";
import { pathPart } from "../../api/path-part.ts";

/** The address of a file. Its slashes stay, everything else that a URL could misread is encoded. */
export function filePath(session: SessionRef, path: string, query: Record<string, string> = {}): string {
  return sessionPath(session, `/files/${path.split("/").map(pathPart).join("/")}`, query);
}
