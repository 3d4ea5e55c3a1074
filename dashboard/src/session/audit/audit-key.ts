import type { SessionRef } from "../../api/client.ts";
import { isAdmin, me } from "../../state/service.ts";

/** The session as `GET /v1/audit` names it: with its namespace for an admin, who sees all of them. */
export function auditKey({ id, namespace }: SessionRef): string {
  return isAdmin.value ? `${namespace ?? me.value?.namespace}.${id}` : id;
}
