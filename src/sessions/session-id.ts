import { randomBytes } from "node:crypto";
import { CodecellError } from "../lib/errors.ts";
import { checkText } from "./caller-arguments.ts";

const pattern = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/;

/** An unguessable id: whoever knows it may use the session. */
export function newSessionId(): string {
  return `s-${randomBytes(16).toString("base64url").replace(/[-_]/g, "x")}`;
}

/** Checks an id from a caller. It becomes the name of a directory, so invalid ids are rejected, not escaped. */
export function checkSessionId(id: string): string {
  checkText(id, "the id of a session");
  if (pattern.test(id) && !id.includes("..") && !id.endsWith(".")) return id;
  throw new CodecellError("usage", `invalid session id: ${JSON.stringify(id.slice(0, 80))}`, {
    hint: "use 1 to 64 letters, digits, dots, dashes and underscores, starting with a letter or digit",
  });
}

/** Ids of one tenant have a prefix of fixed length, which no caller can choose. */
const namespacePattern = /^ns-[0-9a-f]{12}$/;
const namespacedPattern = /^ns-[0-9a-f]{12}\.(?=.)/;
/** The longest id of a caller, without the prefix. */
export const maxNamespacedId = 48;

export function newNamespace(): string {
  return `ns-${randomBytes(6).toString("hex")}`;
}

export function isNamespace(text: string): boolean {
  return namespacePattern.test(text);
}

/** The id that the codecell and the disk use for a tenant's session. */
export function sessionKey(namespace: string, id: string): string {
  if (!isNamespace(namespace)) throw new CodecellError("internal", "invalid namespace");
  checkSessionId(id);
  if (id.length <= maxNamespacedId) return `${namespace}.${id}`;
  throw new CodecellError("usage", `a session id has at most ${maxNamespacedId} characters here`);
}

/** The id that callers of a session use: without the prefix. */
export function shownId(key: string): string {
  return key.replace(namespacedPattern, "");
}

/** The namespace of a session, if it has one, and the id that its callers use. */
export function splitKey(key: string): { readonly namespace: string | undefined; readonly id: string } {
  const id = shownId(key);
  return { namespace: id === key ? undefined : key.slice(0, key.length - id.length - 1), id };
}
