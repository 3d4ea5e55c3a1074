import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Whether a source below `sources` has no compiled file below `compiled`, or an older one: tests would run old code. */
export function isBuildOlder(compiled: string, sources: string): boolean {
  return sourcesBelow(sources).some((name) => {
    const made = statSync(join(compiled, name.replace(/ts$/, "js")), { throwIfNoEntry: false });
    return made === undefined || made.mtimeMs < statSync(join(sources, name)).mtimeMs;
  });
}

/** Whether a source below `sources` is newer than the bundle that contains it. */
export function isBundleOlder(bundle: string, sources: string): boolean {
  const { mtimeMs } = statSync(bundle);
  return sourcesBelow(sources).some((name) => mtimeMs < statSync(join(sources, name)).mtimeMs);
}

function sourcesBelow(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
}
