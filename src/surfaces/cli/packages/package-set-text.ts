import type { CachedSet } from "../../../packages/store/package-sets.ts";

/** The packages of a set in one line. Names come from an index: print them through safe-text. */
export function setName({ packages }: CachedSet): string {
  return packages.map(({ name, version }) => `${name} ${version}`).join(", ");
}

/** A set for programs. */
export function setJson({ key, directory, bytes, lastUsedMs, packages }: CachedSet): object {
  return { key, directory, bytes, last_used: new Date(lastUsedMs).toISOString(), packages };
}
