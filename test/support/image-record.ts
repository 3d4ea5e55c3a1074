import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isThorough } from "./thorough.ts";

const root = new URL("../../", import.meta.url);
const file = new URL("test/containers/built-image.json", root);
const dayMs = 24 * 60 * 60_000;
const keptDays = 30;

/** The last build of the default image that passed its tests: the day, and the hash of what it was built from. */
interface ImageRecord {
  readonly builtOn: string;
  readonly sources: string;
}

/**
 * A build of the default image downloads and unpacks 600 MB, which takes minutes. What comes out depends on the recipe, on our code that
 * builds it, and on Debian. So CI builds it if one of the first two has changed or the record is old, and otherwise tests with
 * a small image. `IMAGE_BUILD=always` and `ATTACKS=all` build it; `IMAGE_BUILD=record` also writes the record.
 */
export function recordedBuild(nowMs = Date.now()): ImageRecord | undefined {
  if (isThorough || process.env.IMAGE_BUILD !== undefined) return undefined;
  const record: ImageRecord = JSON.parse(readFileSync(file, "utf8"));
  const isFresh = nowMs - Date.parse(record.builtOn) < keptDays * dayMs;
  return isFresh && record.sources === sourcesHash() ? record : undefined;
}

export function recordBuild(): void {
  if (process.env.IMAGE_BUILD !== "record") return;
  const record: ImageRecord = { builtOn: new Date().toISOString().slice(0, 10), sources: sourcesHash() };
  writeFileSync(file, `${JSON.stringify(record, null, 2)}\n`);
}

function sourcesHash(): string {
  const folder = "src/runners/container/image/";
  const code = readdirSync(new URL(folder, root)).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  const hash = createHash("sha256");
  for (const path of ["images/python/Dockerfile", ...code.sort().map((name) => folder + name)]) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(new URL(path, root)))
      .update("\0");
  }
  return hash.digest("hex").slice(0, 16);
}
