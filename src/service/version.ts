import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../lib/files/package-root.ts";

const cache: { version?: string } = {};

/** The version in package.json. Read once. */
export function codecellVersion(): string {
  cache.version ??= (
    JSON.parse(readFileSync(join(packageRoot(), "package.json"), "utf8")) as { version: string }
  ).version;
  return cache.version;
}
