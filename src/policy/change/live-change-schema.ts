import { z } from "zod";
import { netRules } from "../schema.ts";
import { liveNet } from "./live-rules.ts";

const { shape } = liveNet();
/** A `LiveChange`, to parse it from the wire. */
export const liveChangeSchema = z.strictObject({
  net: z
    .strictObject({
      enabled: shape.enabled.nullable(),
      allowlist: shape.allowlist.nullable(),
      deny: shape.deny.nullable(),
      connections: shape.connections.nullable(),
      requests: shape.requests.nullable(),
      // not converted to bytes: requests are stored as they were written
      sent: netRules().sent.in.optional().nullable(),
      received: netRules().received.in.optional().nullable(),
    })
    .describe("each rule as in a policy file; null: undo earlier changes to it; absent: leave it as it is"),
});
