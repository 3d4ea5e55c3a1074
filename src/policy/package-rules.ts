import { z } from "zod";
import { once } from "../lib/once.ts";
import { durationUnits, formatDuration } from "./format-units.ts";

/** Which Python packages a cell gets from an index, and under which rules. */
export interface PackageRules {
  /** requirements as in a line of requirements.txt: `pandas==2.2`, with `--hash=sha256:…` where it is pinned */
  readonly install: readonly string[];
  /** simple indexes in order; the first that knows a name supplies it. Empty: the index that this user's pip uses */
  readonly index: readonly string[];
  /** globs of package names, dependencies included */
  readonly allow: readonly string[];
  /** wins over `allow` */
  readonly deny: readonly string[];
  /** every requirement and dependency must be pinned with a hash */
  readonly hashes: boolean;
  /** releases that are younger are not seen */
  readonly minAgeMs: number;
  /** whether programs may have the host install more, with `%pip install`, under the same rules */
  readonly inside: boolean;
  /** globs of names that may be built from a source distribution, in a cell of its own */
  readonly sdists: readonly string[];
}

/** The section as a parsed policy has it: lists that can be copied into another policy. */
export type WholePackageRules = z.output<ReturnType<typeof packageSchemas>["section"]>;

/** An age is often some days, and may be none, unlike the other durations of a policy. */
const ageUnits: Readonly<Record<string, number>> = { ...durationUnits, d: 24 * 3_600_000 };
const longestAgeMs = 366 * 24 * 3_600_000;
const agePattern = /^\d{1,9} ?(?:ms|s|m|h|d)$/;
const expectedAge = "expected an age such as 7d, 12h or 0s";

/** The schemas of `kernel.packages`, in a policy and in an override. */
export const packageSchemas = once(() => {
  const requirement = z
    .string("expected a requirement such as requests or pandas==2.2")
    .min(1, "expected a requirement such as requests or pandas==2.2")
    .max(16_384, "at most 16384 characters")
    // The attack: an option of pip, a path or a second line in what looks like a name.
    .regex(/^[A-Za-z0-9][^\r\n\0]*$/, "expected a requirement such as requests or pandas==2.2");
  const index = z
    .string("expected the address of a simple index such as https://packages.example/simple")
    .max(2048, "at most 2048 characters")
    .refine(isIndexAddress, "expected an https address such as https://packages.example/simple");
  const nameGlob = z
    .string("expected a package name or a glob such as numpy or google-*")
    .max(200, "at most 200 characters")
    .regex(/^[A-Za-z0-9*](?:[A-Za-z0-9._*-]*[A-Za-z0-9*])?$/, "expected a package name or a glob such as google-*")
    .transform(normalGlob);

  /** Without defaults: a policy has defaults, an override has none. */
  const rules = {
    install: z.array(requirement).max(2_000, "at most 2000 requirements"),
    index: z.array(index).max(8, "at most 8 indexes"),
    allow: z.array(nameGlob).max(1024, "at most 1024 names"),
    deny: z.array(nameGlob).max(1024, "at most 1024 names"),
    hashes: z.boolean(),
    sdists: z.array(nameGlob).max(1024, "at most 1024 names"),
    minAge: z
      .string(expectedAge)
      .regex(agePattern, expectedAge)
      .transform((text) => parseAge(text) ?? 0)
      .refine((ms) => ms <= longestAgeMs, "at most 366d"),
    inside: z.boolean(),
  } as const;

  const section = z
    .strictObject({
      install: rules.install.default([]).describe("Requirements such as pandas==2.2. Empty: no packages."),
      index: rules.index
        .default([])
        .describe("Simple indexes; the first that knows a name supplies it. Empty: the index that your pip uses."),
      allow: rules.allow.default(["*"]).describe("Globs of names that may be installed, dependencies included."),
      deny: rules.deny.default([]).describe("Globs of names that may not be installed, even if allow names them."),
      hashes: rules.hashes.default(false).describe("Whether every requirement and dependency must carry a hash."),
      minAge: rules.minAge.prefault("0s").describe("Releases younger than this are not used."),
      inside: rules.inside
        .default(false)
        .describe("Whether %pip install in a session has the host install more packages, under the same rules."),
      sdists: rules.sdists
        .default([])
        .describe("Globs of names that may be built from source, in a cell without a network. Empty: wheels only."),
    })
    .transform(({ minAge, ...rest }) => ({ ...rest, minAgeMs: minAge }));
  const patch = z
    .strictObject(rules)
    .partial()
    .transform(({ minAge, ...rest }) => ({ ...rest, minAgeMs: minAge }));
  return { section, patch };
});

/** `7d`, `12h` or `0s` in milliseconds. */
export function parseAge(text: string): number | undefined {
  if (!agePattern.test(text)) return undefined;
  return Number.parseInt(text, 10) * (ageUnits[text.replace(/^\d+ ?/, "")] ?? Number.NaN);
}

/** The rules of an empty policy. */
export function noPackages(): WholePackageRules {
  return { install: [], index: [], allow: ["*"], deny: [], hashes: false, inside: false, sdists: [], minAgeMs: 0 };
}

/** One line for people. Never with a password: receipts are printed and stored. */
export function showPackages(packages: PackageRules): string {
  const { install, index, allow, deny, hashes, minAgeMs, inside, sdists } = packages;
  const rules = [
    ...(index.length > 0 ? [`from ${index.map(withoutCredentials).join(", ")}`] : []),
    ...(allow.length === 1 && allow[0] === "*" ? [] : [`only ${allow.length === 0 ? "none" : allow.join(", ")}`]),
    ...(deny.length > 0 ? [`never ${deny.join(", ")}`] : []),
    ...(hashes ? ["hashes required"] : []),
    ...(minAgeMs > 0 ? [`at least ${formatDuration(minAgeMs)} old`] : []),
    ...(inside ? ["programs may install more"] : []),
    ...(sdists.length > 0 ? [`${sdists.join(", ")} may be built from source`] : []),
  ];
  const names = install.length === 0 ? "none" : install.map(withoutHashes).join(", ");
  return [names, ...rules].join("; ");
}

/** A requirement without its pins, which are long. */
export function withoutHashes(requirement: string): string {
  return requirement.replace(/\s+--hash[=\s]\S+/g, "").trim();
}

/** PEP 503: runs of `-`, `_` and `.` are one `-`, and case does not matter. */
function normalGlob(glob: string): string {
  return glob.replace(/[-_.]+/g, "-").toLowerCase();
}

function isIndexAddress(text: string): boolean {
  try {
    const { protocol, hostname } = new URL(text);
    // Whoever is on the way could replace what a plain address answers, hashes included.
    const isLoopback = hostname === "localhost" || hostname === "[::1]" || /^127\.\d+\.\d+\.\d+$/.test(hostname);
    return protocol === "https:" || (protocol === "http:" && isLoopback);
  } catch {
    return false;
  }
}

function withoutCredentials(address: string): string {
  const url = new URL(address);
  url.username = "";
  url.password = "";
  return url.href;
}
