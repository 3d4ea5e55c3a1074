import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

/** Whether a source below `sources` has no compiled file below `compiled`, or an older one: tests would run old code. */
export function isBuildOlder(compiled: string, sources: string): boolean {
  const names = readdirSync(sources, { recursive: true, encoding: "utf8" });
  const isSource = (name: string) => name.endsWith(".ts") && !name.endsWith(".test.ts");
  return names.filter(isSource).some((name) => {
    const made = statSync(join(compiled, name.replace(/ts$/, "js")), { throwIfNoEntry: false });
    return made === undefined || made.mtimeMs < statSync(join(sources, name)).mtimeMs;
  });
}
