import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** Where our images are kept in an engine; the tag is the version. */
export const imageRepository = "codecell-python";
/** What the Dockerfile's FROM names unless it is told otherwise. */
export const defaultBase = "debian:bookworm-slim";

/** The name of the image that cells run in when the policy names none: `codecell-python:` and its version. */
export function defaultImage(): string {
  return `${imageRepository}:${imageVersion(readDockerfile(), defaultBase)}`;
}

/** Pure: the same recipe has the same version on every machine, and another recipe another one. */
export function imageVersion(dockerfile: string, base: string): string {
  return createHash("sha256").update(`${base}\n${dockerfile}`).digest("hex").slice(0, 12);
}

/** The recipe that ships with this version of codecell; it lies at the same distance from `src` and from `dist`. */
export function readDockerfile(): string {
  return readFileSync(new URL("../../../../images/python/Dockerfile", import.meta.url), "utf8");
}
