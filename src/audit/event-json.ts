import { valueHider } from "../lib/hide-values.ts";

/** How an event becomes JSON without the values of environment variables: their names stand in their place. */
export function eventWriter(env: Readonly<Record<string, string>> = {}): (event: object) => string {
  const hide = valueHider(env);
  if (!hide) return (event) => JSON.stringify(event);
  return (event) => JSON.stringify(event, (_key, item) => (typeof item === "string" ? hide(item) : item));
}
