import { existsSync } from "node:fs";
import { join } from "node:path";
import { CodecellError } from "../../lib/errors.ts";
import { isBundleOlder } from "../../lib/files/is-build-older.ts";
import { packageRoot } from "../../lib/files/package-root.ts";

/** The proxy's program. It always runs from dist, even when this file runs from source. */
export function proxyEntry(): string {
  const entry = join(packageRoot(), "dist", "bundled", "egress", "process", "proxy-process.js");
  const isSource = import.meta.url.endsWith(".ts");
  if (existsSync(entry) && !(isSource && isBundleOlder(entry, join(packageRoot(), "src", "egress")))) return entry;
  throw new CodecellError("internal", "the compiled egress proxy is missing, or older than its source", {
    hint: "run `npm run build` in the clone, or install codecell again",
  });
}
