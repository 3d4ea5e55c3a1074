import { z } from "zod";
import { once } from "../../lib/once.ts";
import { hostPattern, restrictionCovers } from "./host-pattern.ts";

export const requestRule = once(() => {
  const method = z.string().regex(/^[A-Z][A-Z-]{0,31}$/, "expected a method in upper case such as GET");

  /** Literal segments, `*` within a segment and `**` for any number of segments. */
  const pathPattern = z
    .string("expected a path such as /v1/**")
    .max(512, "at most 512 characters")
    .regex(/^\/[A-Za-z0-9\-._~!$&'()*+,=:@%/]*$/, "expected a path such as /v1/** or /repos/*/issues")
    .refine(
      (text) =>
        !text
          .slice(1)
          .split("/")
          .some((part) => part === "." || part === ".."),
      "a path cannot contain . or .. parts",
    )
    .refine((text) => !text.includes("//"), "a path cannot contain empty parts")
    .refine(
      (text) => text.split("/").every((part) => part === "**" || !part.includes("**")),
      "** must be a whole part, as in /v1/**",
    );

  return z.strictObject({
    host: hostPattern().describe("Host that the rule applies to; all other requests to it are refused."),
    methods: z.array(method).min(1, "name at least one method").max(32, "at most 32 methods").optional(),
    paths: z.array(pathPattern).min(1, "name at least one path").max(256, "at most 256 paths").optional(),
  });
});
export type RequestRule = z.output<ReturnType<typeof requestRule>>;

/** Whether `from` allows every request that `to` allows. Rules that cannot be compared by name count as wider. */
export function requestRulesNarrow(to: readonly RequestRule[], from: readonly RequestRule[]): boolean {
  // A host that had rules must keep at least one: without rules every request is allowed.
  const keepsHosts = from.every(({ host }) => to.some((rule) => restrictionCovers(rule.host, host)));
  return keepsHosts && to.every((rule) => isWithin(rule, from));
}

export function showRequestRule({ host, methods, paths }: RequestRule): string {
  return [host, ...(methods ?? []), ...(paths ?? [])].join(" ");
}

function isWithin(rule: RequestRule, from: readonly RequestRule[]): boolean {
  const about = from.filter(({ host }) => overlap(host, rule.host));
  if (about.length === 0) return true; // these hosts had no rules before
  return about.some(
    (own) =>
      restrictionCovers(own.host, rule.host) && isSubset(rule.methods, own.methods) && isSubset(rule.paths, own.paths),
  );
}

/** Ignores ports, so that all rules for one name are compared. */
function overlap(a: string, b: string): boolean {
  const [nameA = "", nameB = ""] = [a.split(":")[0], b.split(":")[0]];
  return restrictionCovers(nameA, nameB) || restrictionCovers(nameB, nameA);
}

function isSubset(to: readonly string[] | undefined, from: readonly string[] | undefined): boolean {
  if (from === undefined) return true;
  return to?.every((item) => from.includes(item)) ?? false;
}
