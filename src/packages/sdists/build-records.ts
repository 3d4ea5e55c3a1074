import { createHash } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomically } from "../../lib/files/atomic-file.ts";
import type { PackageTarget } from "../package-target.ts";
import type { PackageStore } from "../store/package-store.ts";
import { wheelPath } from "../store/wheel-store.ts";

/** A wheel that was built before. */
export interface BuildRecord {
  /** of the wheel */
  readonly sha256: string;
  readonly fileName: string;
}

/** Everything that decides what a build makes. `requirements` is the key of the set of its build requirements. */
export function buildName(sdist: string, target: PackageTarget, requirements: string | undefined): string {
  const { python, fullPython, implementation, platform, glibc, musl } = target;
  const parts = [
    ...["build 1", sdist, requirements ?? null, python, fullPython ?? null, implementation, platform],
    ...[glibc ?? null, musl ?? null],
  ];
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex");
}

/** Undefined: it was not built yet, or its wheel was pruned. */
export async function readBuild(store: PackageStore, name: string): Promise<BuildRecord | undefined> {
  try {
    const found = JSON.parse(await readFile(recordPath(store, name), "utf8")) as Partial<BuildRecord>;
    const { sha256 = "", fileName = "" } = found;
    if (!/^[0-9a-f]{64}$/.test(sha256) || typeof fileName !== "string") return undefined;
    await access(wheelPath(store, sha256));
    return { sha256, fileName };
  } catch {
    return undefined;
  }
}

export async function writeBuild(store: PackageStore, name: string, record: BuildRecord): Promise<void> {
  await writeFileAtomically(recordPath(store, name), JSON.stringify(record));
}

/** Beside the lock records, and pruned like them. */
function recordPath({ locks }: PackageStore, name: string): string {
  return join(locks, `build-${name}.json`);
}
