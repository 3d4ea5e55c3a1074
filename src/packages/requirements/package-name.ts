/** PEP 508's names; longer ones exist nowhere. */
export function isPackageName(name: string): boolean {
  return name.length <= 128 && /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/.test(name);
}

/** PEP 503: `Foo.Bar`, `foo_bar` and `foo--bar` are one package. */
export function normalName(name: string): string {
  return name.replace(/[-_.]+/g, "-").toLowerCase();
}
