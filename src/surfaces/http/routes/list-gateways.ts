import { z } from "zod";
import { encodeTime, timestamp } from "../../../service/wire/timestamp.ts";
import { defineRoute } from "../route.ts";

const gatewaySchema = z.strictObject({
  id: z.string(),
  url: z.string().describe("how the other gateways reach it"),
  alive: z
    .boolean()
    .describe("false: its lease is over; its sessions are adopted by the gateway that is asked for them"),
  self: z.boolean().describe("whether this gateway answered the request"),
  sessions: z.int().describe("open sessions that it owns"),
  started_at: timestamp,
  renewed_until: timestamp.describe("the end of its lease, by the clock of the database"),
});

export const listGatewaysRoute = defineRoute({
  method: "GET",
  path: "/v1/gateways",
  id: "listGateways",
  summary: "List the gateways that share the database",
  description: "Empty if the service has no database: then it is alone.",
  tag: "service",
  scope: "admin",
  replies: {
    200: { description: "alive and lost ones", schema: z.strictObject({ gateways: z.array(gatewaySchema) }) },
  },
  async handle({ service: { gateways } }) {
    const rows = (await gateways?.list()) ?? [];
    const self = gateways?.lease.id;
    return {
      json: {
        gateways: rows.map(({ id, url, isAlive, sessions, startedMs, renewedUntilMs }) => ({
          ...{ id, url, alive: isAlive, self: id === self, sessions },
          ...{ started_at: encodeTime(startedMs), renewed_until: encodeTime(renewedUntilMs) },
        })),
      },
    };
  },
});
