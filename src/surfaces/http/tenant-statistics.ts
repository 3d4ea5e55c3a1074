import { z } from "zod";

export const tenantStatisticsSchema = z
  .strictObject({
    namespace: z.string(),
    tenant: z.string().nullable().describe("name of its token; null: the token was removed"),
    sessions: z.int().describe("its sessions with a cell, or starting one"),
    running: z.int(),
    runs: z.int().describe("runs that ended"),
    refused: z.int().describe("requests and runs that a limit of the token refused"),
    cost_usd: z.number().describe("of its model calls"),
  })
  .describe("since the service started");
/** What one tenant did since the service started. */
export type WireTenantStatistics = z.output<typeof tenantStatisticsSchema>;
