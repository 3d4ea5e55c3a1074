/** Shorter values are common words and numbers. */
const shortest = 6;

/**
 * Replaces the values of environment variables, any of which may be a secret, by their names. Undefined if there is nothing to
 * hide. Encoded values, such as base64, are not recognised.
 */
export function valueHider(env: Readonly<Record<string, string | undefined>>): ((text: string) => string) | undefined {
  const hidden = Object.entries(env)
    .flatMap(([name, value]) => (value !== undefined && value.length >= shortest ? [{ name, value }] : []))
    // longer values first: one may be a part of another
    .sort((a, b) => b.value.length - a.value.length);
  if (hidden.length === 0) return undefined;
  return (text) => hidden.reduce((rest, { name, value }) => rest.replaceAll(value, () => `[env ${name}]`), text);
}
