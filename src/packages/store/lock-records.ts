import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import type { PackageTarget } from "../package-target.ts";
import type { PreparedPackage } from "../prepared-packages.ts";
import type { ResolveRules } from "../resolve-rules.ts";
import type { PackageStore } from "./package-store.ts";

/** What some requirements were resolved to. */
export interface LockRecord {
  readonly resolvedMs: number;
  readonly packages: readonly PreparedPackage[];
}

/** Everything that decides which wheels are chosen. A change of any of it resolves again. */
export interface LockQuestion {
  readonly requests: readonly { readonly requirement: string; readonly hashes: readonly string[] }[];
  readonly target: PackageTarget;
  readonly rules: ResolveRules;
  /** without credentials */
  readonly indexes: readonly string[];
  /** versions by name that were there before */
  readonly installed?: ReadonlyMap<string, string>;
}

/** Order, and who asked, do not matter. */
export function lockName({ requests, target, rules, indexes, installed }: LockQuestion): string {
  const wanted = requests.map(({ requirement, hashes }) => [requirement, ...[...hashes].sort()].join(" ")).sort();
  const { python, fullPython, implementation, platform, glibc, musl } = target;
  const lists = [rules.allow, rules.deny, ...(rules.sdists.length > 0 ? [rules.sdists] : [])].map((list) =>
    [...list].sort(),
  );
  const parts = [
    ...["lock 1", [...new Set(wanted)], indexes, lists, rules.hashes, rules.minAgeMs],
    ...[python, fullPython ?? null, implementation, platform, glibc ?? null, musl ?? null],
    ...(installed ? [[...installed].map((pair) => pair.join("==")).sort()] : []),
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Undefined: there is none, or it cannot be read. */
export async function readLock({ locks }: PackageStore, name: string): Promise<LockRecord | undefined> {
  try {
    const record: unknown = JSON.parse(await readFile(join(locks, `${name}.json`), "utf8"));
    return isLock(record) ? record : undefined;
  } catch {
    return undefined;
  }
}

export async function writeLock({ locks }: PackageStore, name: string, record: LockRecord): Promise<void> {
  await writeFileAtomically(join(locks, `${name}.json`), JSON.stringify(record));
}

function isLock(value: unknown): value is LockRecord {
  const { resolvedMs, packages } = value as Partial<LockRecord>;
  if (typeof resolvedMs !== "number" || !Array.isArray(packages)) return false;
  return packages.every((one: Partial<PreparedPackage>) => {
    const texts = [one.name, one.version, one.index, one.wheel].every((text) => typeof text === "string");
    return texts && typeof one.sha256 === "string" && /^[0-9a-f]{64}$/.test(one.sha256);
  });
}
