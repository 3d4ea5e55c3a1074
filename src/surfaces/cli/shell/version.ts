import { readFileSync } from "node:fs";

/** The version in package.json, which lies at the same distance from `src` and from `dist`. */
export function codecellVersion(): string {
  const file = new URL("../../../../package.json", import.meta.url);
  const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
  return version;
}
