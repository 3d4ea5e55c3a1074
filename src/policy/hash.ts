import { createHash } from "node:crypto";
import type { Policy } from "./schema.ts";

/** sha256 of the policy in force, in hex. Equivalent policies have the same hash, however they were written. */
export function policyHash(policy: Policy): string {
  return createHash("sha256").update(canonicalJson(policy)).digest("hex");
}

/** JSON with sorted keys and without absent values, so equal values have equal text. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, item: unknown) => {
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
