import { restrictionCovers } from "../../policy/network/host-pattern.ts";
import type { RequestRule } from "../../policy/network/request-rule.ts";
import { matchesRepeated } from "../../policy/paths/glob.ts";
import { type Denial, deny } from "./decide.ts";
import { fieldAsRead } from "./field-name.ts";
import type { Target } from "./target.ts";

export interface AskedRequest extends Target {
  readonly method: string;
  /** with its query */
  readonly path: string;
  /** in lower case */
  readonly fields: readonly string[];
}

/** Headers that override the method or the path on some servers. */
const methodOverrides = new Set(["x-http-method-override", "x-http-method", "x-method-override"]);
const pathOverrides = new Set(["x-original-url", "x-rewrite-url", "x-override-url"]);

/** The rules for a host. A request needs one rule that allows it. */
export function rulesAbout({ host, port }: Target, rules: readonly RequestRule[] = []): RequestRule[] {
  return rules.filter((rule) => restrictionCovers(rule.host, `${host}:${port}`));
}

/** Pure: why a request to an allowed host is refused; undefined: it is allowed, or the host has no rules. */
export function judgeRequest(asked: AskedRequest, rules: readonly RequestRule[] | undefined): Denial | undefined {
  const about = rulesAbout(asked, rules);
  if (about.length === 0) return undefined;
  const { host, method } = asked;
  const fields = asked.fields.map(fieldAsRead);
  const segments = canonicalSegments(asked.path);
  if (about.some(({ methods }) => methods) && fields.some((name) => methodOverrides.has(name))) {
    return deny("request", `a request to ${host} overrides its method in a header`, "use that method for the request");
  }
  if (about.some(({ paths }) => paths) && fields.some((name) => pathOverrides.has(name))) {
    return deny("request", `a request to ${host} overrides its path in a header`, "request that path directly");
  }
  if (about.some(({ paths }) => paths) && segments === undefined) {
    return deny(
      "request",
      `a request to ${host} has a path that servers may read in different ways`,
      "write the path without encoded slashes, dots or empty parts",
    );
  }
  const byMethod = about.filter(({ methods }) => methods?.includes(method) ?? true);
  if (byMethod.length === 0) {
    return deny("request", `net.rules does not allow ${method} to ${host}`, `add ${method} to a rule of ${host}`);
  }
  const isAllowed = byMethod.some(({ paths }) => paths?.some((path) => matchesPath(path, segments ?? [])) ?? true);
  if (isAllowed) return undefined;
  return deny(
    "request",
    `net.rules does not allow ${method} of this path to ${host}`,
    `add the path to a rule of ${host}`,
  );
}

/**
 * The parts of a path between slashes, or undefined where two servers could disagree on them. The attacks: `/v1/../admin`,
 * `/v1/%2e%2e/admin`, `/v1//admin`, `/v1/..;/admin`, `/v1\admin`, and other encodings of slashes and dots.
 */
export function canonicalSegments(path: string): string[] | undefined {
  const [plain = ""] = path.split("?");
  if (!/^\/(?:[A-Za-z0-9\-._~!$&'()*+,=:@/]|%[0-9A-Fa-f]{2})*$/.test(plain)) return undefined;
  // Refuse encoded characters that need no encoding, and encoded path separators.
  const codes = (plain.match(/%[0-9A-Fa-f]{2}/g) ?? []).map((code) => Number.parseInt(code.slice(1), 16));
  if (codes.some((code) => code < 0x20 || code === 0x7f || /[A-Za-z0-9\-._~/\\%;]/.test(String.fromCharCode(code)))) {
    return undefined;
  }
  const decoded = decodedText(plain);
  if (decoded === undefined || decoded.normalize("NFKC") !== decoded) return undefined;
  const segments = upperCodes(plain).slice(1).split("/");
  const isOdd = segments.some((part, index) => /^\.{1,2}$/.test(part) || (part === "" && index < segments.length - 1));
  return isOdd ? undefined : segments;
}

function matchesPath(pattern: string, segments: readonly string[]): boolean {
  const parts = upperCodes(pattern).slice(1).split("/");
  return matchesRepeated(parts, segments, (part) => part === "**", matchesSegment);
}

function matchesSegment(part: string, segment: string): boolean {
  return matchesRepeated(
    [...part],
    [...segment],
    (one) => one === "*",
    (one, other) => one === other,
  );
}

function upperCodes(text: string): string {
  return text.replace(/%[0-9A-Fa-f]{2}/g, (code) => code.toUpperCase());
}

function decodedText(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined; // not UTF-8: some servers read `%c0%af` as a slash
  }
}
