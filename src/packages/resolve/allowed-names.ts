/** `deny` wins. Names are normalised; in a glob, `*` stands for any characters. */
export function nameRule(
  name: string,
  { allow, deny }: { readonly allow: readonly string[]; readonly deny: readonly string[] },
): "allowed" | "not allowed" | "denied" {
  if (deny.some((glob) => matches(glob, name))) return "denied";
  return allow.some((glob) => matches(glob, name)) ? "allowed" : "not allowed";
}

/** Linear for every glob, unlike a regular expression with many stars. */
function matches(glob: string, name: string): boolean {
  const [first = "", ...rest] = glob
    .replace(/[-_.]+/g, "-")
    .toLowerCase()
    .split("*");
  if (rest.length === 0) return name === first;
  if (!name.startsWith(first)) return false;
  const last = rest.pop() ?? "";
  let at = first.length;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
