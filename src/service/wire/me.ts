import { z } from "zod";
import { scopes } from "../tenants/scope.ts";
import { timestamp } from "./timestamp.ts";

export const meSchema = z.strictObject({
  token: z.string().describe("the name of the token"),
  namespace: z.string().describe("its sessions have this namespace in the audit"),
  scopes: z.array(z.enum(scopes)),
  expires_at: timestamp.nullable().describe("null: it does not expire"),
  service: z.strictObject({
    version: z.string(),
    started_at: timestamp,
    policy_hash: z.string().describe("sha256 of the policy of new sessions"),
    audit: z.boolean().describe("whether it has an audit"),
    network: z.boolean().describe("whether the policy opens the network"),
    models: z.array(z.string()).describe("models that programs may call"),
    persist: z.boolean().describe("whether sessions outlive the service"),
    gateways: z.boolean().describe("whether other gateways share its sessions: each one streams the events of its own"),
    undo: z.int().describe("how many runs of a session can be undone; 0: none"),
  }),
});
/** The caller and the service, in the wire format. */
export type WireMe = z.output<typeof meSchema>;
