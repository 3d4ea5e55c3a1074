import { me } from "../../state/service.ts";

/** Whether the page's token has a scope, itself or through another. */
export function hasScope(scope: "run" | "read" | "audit" | "metrics" | "admin"): boolean {
  const held = me.value?.scopes ?? [];
  return held.includes("admin") || held.includes(scope) || (scope === "read" && held.includes("run"));
}
