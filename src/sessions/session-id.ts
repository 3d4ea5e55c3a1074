import { randomBytes } from "node:crypto";
import { CodecellError } from "../lib/errors.ts";

const pattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** An id that nobody can guess: whoever knows it may use the session. */
export function newSessionId(): string {
  return `s-${randomBytes(16).toString("base64url").replace(/[-_]/g, "x")}`;
}

/** An id that a caller gave. It becomes a directory's name, so it is checked and not escaped. */
export function checkSessionId(id: string): string {
  if (pattern.test(id) && !id.includes("..") && !id.endsWith(".")) return id;
  throw new CodecellError("usage", `not a session id: ${JSON.stringify(id.slice(0, 80))}`, {
    hint: "use 1 to 64 letters, digits, dots, dashes and underscores, beginning with a letter or digit",
  });
}
