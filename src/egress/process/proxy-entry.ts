import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CodecellError } from "../../lib/errors.ts";
import { isBuildOlder } from "../../lib/files/is-build-older.ts";

const below = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

/** The proxy's program. It always runs from dist, even when this file runs from source. */
export function proxyEntry(): string {
  const entry = below("dist/egress/process/proxy-process.js");
  const isSource = import.meta.url.endsWith(".ts");
  if (existsSync(entry) && !(isSource && isBuildOlder(below("dist/egress"), below("src/egress")))) return entry;
  throw new CodecellError("internal", "the compiled egress proxy is missing, or older than its source", {
    hint: "run `npm run build` in the clone, or install codecell again",
  });
}
