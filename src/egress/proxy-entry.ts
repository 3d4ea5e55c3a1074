import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CodecellError } from "../lib/errors.ts";

/** The proxy's own program. It runs from dist, also when this file is read as it was written. */
export function proxyEntry(): string {
  const entry = fileURLToPath(new URL("../../dist/egress/proxy-process.js", import.meta.url));
  // Run from the sources (tests do), an old one would be tested in the new one's place.
  if (existsSync(entry) && !(import.meta.url.endsWith(".ts") && isOlder(dirname(entry)))) return entry;
  throw new CodecellError("internal", "the compiled egress proxy is missing, or older than its source", {
    hint: "npm run build",
  });
}

function isOlder(compiled: string): boolean {
  const sources = dirname(fileURLToPath(import.meta.url));
  const names = readdirSync(sources).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
  return names.some((name) => {
    const made = statSync(join(compiled, name.replace(/ts$/, "js")), { throwIfNoEntry: false });
    return made === undefined || made.mtimeMs < statSync(join(sources, name)).mtimeMs;
  });
}
