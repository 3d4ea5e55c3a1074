/** What a token may do. `admin` holds every other one. */
export const scopes = ["run", "read", "audit", "admin", "metrics"] as const;
/** What a token allows. */
export type Scope = (typeof scopes)[number];

/** Whoever may run code in a session reads what is in it anyway. */
export function allows(held: readonly Scope[], asked: Scope): boolean {
  if (held.includes("admin") || held.includes(asked)) return true;
  return asked === "read" && held.includes("run");
}
