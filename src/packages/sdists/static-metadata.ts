import { headersOf } from "../wheels/wheel-metadata.ts";

/**
 * Whether a PKG-INFO promises that every wheel of it has these requirements (PEP 643). Otherwise only a build can tell.
 */
export function isStatic(pkgInfo: string): boolean {
  const fields = headersOf(pkgInfo);
  const [, major, minor] = /^(\d{1,3})\.(\d{1,3})$/.exec(fields.get("metadata-version")?.[0] ?? "") ?? [];
  const isNew = Number(major) > 2 || (Number(major) === 2 && Number(minor) >= 2);
  const dynamic = (fields.get("dynamic") ?? []).map((name) => name.toLowerCase());
  return isNew && !dynamic.some((name) => ["requires-dist", "requires-python", "provides-extra"].includes(name));
}
