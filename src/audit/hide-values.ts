/** Shorter ones are words and numbers that stand everywhere. */
const shortest = 6;

/**
 * How an event becomes JSON without the values of environment variables, any of which may be a secret: their names stand
 * in their place. What a program does to a value before it shows it, such as base64, is not recognised.
 */
export function eventWriter(env: Readonly<Record<string, string>> = {}): (event: object) => string {
  const hidden = Object.entries(env)
    .filter(([, value]) => value.length >= shortest)
    // the longer first: one may be a part of another
    .sort(([, a], [, b]) => b.length - a.length);
  if (hidden.length === 0) return (event) => JSON.stringify(event);
  const hide = (_key: string, item: unknown) => {
    if (typeof item !== "string") return item;
    return hidden.reduce((text, [name, value]) => text.replaceAll(value, () => `[env ${name}]`), item);
  };
  return (event) => JSON.stringify(event, hide);
}
