import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** The repository of codecell's images in an engine. The tag is the version. */
export const imageRepository = "codecell-python";
/** The default base image of the Dockerfile. */
export const defaultBase = "debian:bookworm-slim";

/** The image of cells if the policy names none: `codecell-python:` and its version. */
export function defaultImage(): string {
  return `${imageRepository}:${imageVersion(readDockerfile(), defaultBase)}`;
}

/** Pure: the version depends only on the Dockerfile and the base, so it is the same on every machine. */
export function imageVersion(dockerfile: string, base: string): string {
  return createHash("sha256").update(`${base}\n${dockerfile}`).digest("hex").slice(0, 12);
}

/** The Dockerfile of this version of codecell. Its relative path is the same from `src` and from `dist`. */
export function readDockerfile(): string {
  return readFileSync(new URL("../../../../images/python/Dockerfile", import.meta.url), "utf8");
}
