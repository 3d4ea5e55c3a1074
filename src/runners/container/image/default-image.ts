import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "../../../lib/files/package-root.ts";

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

/** The Dockerfile of this version of codecell. */
export function readDockerfile(): string {
  return readFileSync(join(packageRoot(), "images", "python", "Dockerfile"), "utf8");
}
