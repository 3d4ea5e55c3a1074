import { isIP } from "node:net";

/** Why a host name is refused. An invalid name is never repaired. */
export type HostProblem =
  | "empty"
  | "userinfo"
  | "not_ascii"
  | "bad_character"
  | "bad_label"
  | "too_long"
  | "single_label"
  | "address"
  | "odd_address"
  | "odd_ending";

export type ParsedHost =
  | { readonly ok: true; readonly host: string }
  | { readonly ok: false; readonly problem: HostProblem };

const label = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * One spelling per host: lower case, without the trailing dot. The decision, the lookup, the connection and the log all use
 * this text, so that no two of them read a name differently.
 */
export function parseHostName(text: string): ParsedHost {
  const problem = (why: HostProblem): ParsedHost => ({ ok: false, problem: why });
  if (text === "") return problem("empty");
  // Before any comparison. The attack: `evil\0.allowed.example` ends with an allowed name, and the resolver stops at NUL.
  if (/[^\x21-\x7e]/.test(text)) return problem(/[^\0-\x7f]/.test(text) ? "not_ascii" : "bad_character");
  if (text.includes("@")) return problem("userinfo");
  if (text.startsWith("[") || text.includes(":")) return problem("address");
  const lower = text.toLowerCase();
  const name = lower.endsWith(".") ? lower.slice(0, -1) : lower;
  if (isIP(name) !== 0) return problem("address");
  if (name.length > 253) return problem("too_long");
  const labels = name.split(".");
  // The attack: resolvers read `127.1`, `0x7f.1` and `017700000001` as addresses that no rule has checked.
  if (isNumeric(labels.at(-1) ?? "")) return problem("odd_address");
  if (!/^[a-z0-9._-]+$/.test(name)) return problem("bad_character");
  if (!labels.every((one) => label.test(one))) return problem("bad_label");
  if (!/[a-z]/.test(labels.at(-1) ?? "")) return problem("odd_ending");
  if (labels.length < 2) return problem("single_label"); // a search domain of the host would be appended
  return { ok: true, host: name };
}

function isNumeric(last: string): boolean {
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(last);
}

export const hostProblemText: Readonly<Record<HostProblem, string>> = {
  empty: "the request has no host",
  userinfo: "user information before the host is not accepted",
  not_ascii: "the host name is not ASCII, and programs convert it differently: send it in punycode",
  bad_character: "the host contains a character that is not allowed in host names",
  bad_label: "a part of the host name is empty, too long, or begins or ends with a hyphen",
  too_long: "the host name is longer than 253 characters",
  single_label: "a host name without a dot is not accepted",
  address: "IP addresses are not accepted, only names",
  odd_address: "a name that ends in a number can be read as an IP address",
  odd_ending: "the last part of the host name has no letter, as in no name that exists",
};
