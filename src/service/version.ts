import { readFileSync } from "node:fs";

const cache: { version?: string } = {};

/** The version in package.json, which lies at the same distance from `src` and from `dist`. Read once. */
export function codecellVersion(): string {
  cache.version ??= (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
  return cache.version;
}

const file = new URL("../../package.json", import.meta.url);
