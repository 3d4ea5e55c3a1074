import { posix } from "node:path";
import type { RunError } from "../../kernel/messages.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { builtinDeny } from "../../policy/paths/builtin-deny.ts";
import { denyMatcher } from "../../policy/paths/deny.ts";
import { hostGrants } from "../../policy/paths/host-grants.ts";
import { isBelow } from "../../policy/paths/host-path.ts";
import type { Policy } from "../../policy/schema.ts";

/** How Python reports EACCES for a file: `[Errno 13] Permission denied: '/data/.env'`. */
const denied = /^\[Errno 13\] [^:']{1,100}: (['"])(.{1,4096}?)\1(?: -> |$)/;

/**
 * Pure: the deny glob that hides the file of a PermissionError, as a note. The program can forge its error, so this only
 * repeats what the policy says about a path, as the cell sees it.
 */
export function deniedFileNote({ name, message }: RunError, policy: Policy): string | undefined {
  const [, , found] = name === "PermissionError" ? (denied.exec(message) ?? []) : [];
  if (found === undefined) return undefined;
  const path = posix.resolve("/workspace", found);
  // sandbox-runtime cannot map paths: its cells see a workspace at its own path
  const places = hostGrants(policy).flatMap(({ source, target }) => [target, source]);
  const place = places.filter((one) => isBelow(path, one)).sort((a, b) => b.length - a.length)[0];
  const glob = place === undefined ? undefined : denyMatcher(policy.fs.deny)(path.slice(place.length + 1));
  if (glob === undefined) return undefined;
  const fix = builtinDeny.includes(glob) ? `of the built-in list; "!${glob}" in fs.deny lifts it` : "in fs.deny";
  return `${quotedName(found, 200)} is denied by the policy: ${glob} (${fix})`;
}
