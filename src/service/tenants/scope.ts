/** What a token may do. `admin` includes all others. */
export const scopes = ["run", "read", "audit", "admin", "metrics"] as const;
/** What a token allows. */
export type Scope = (typeof scopes)[number];

/** `run` includes `read`: code in a session can read everything in it anyway. */
export function allows(held: readonly Scope[], required: Scope): boolean {
  if (held.includes("admin") || held.includes(required)) return true;
  return required === "read" && held.includes("run");
}
