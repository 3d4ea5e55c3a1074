import { z } from "zod";
import { encodeReceipt, receiptSchema } from "../../../service/wire/receipt.ts";
import { sessionParams } from "../parameters.ts";
import { defineRoute } from "../route.ts";

const cellSchema = z.strictObject({
  python_version: z.string(),
  languages: z.array(z.string()).describe("the languages that runs accept"),
  usage: z
    .strictObject({
      memory_bytes: z.number().nullable(),
      peak_memory_bytes: z.number().nullable(),
      cpu_ms: z.number().nullable(),
      oom_kills: z.int().describe("how many processes the OOM killer has killed in this cell so far"),
    })
    .describe("what the cell uses now; null: its runner cannot measure it"),
  receipt: receiptSchema,
});

export const getCellRoute = defineRoute({
  method: "GET",
  path: "/v1/sessions/{session}/cell",
  id: "getCell",
  summary: "Describe the cell of a session",
  description: "Starts the cell if there is none.",
  tag: "sessions",
  scope: "read",
  params: sessionParams,
  replies: { 200: { description: "the cell", schema: cellSchema } },
  async handle({ params, tenant }) {
    const session = await tenant.sessions.get(params.session);
    const { memoryBytes = null, peakMemoryBytes = null, cpuMs = null, oomKills } = await session.usage();
    const json: z.output<typeof cellSchema> = {
      ...{ python_version: await session.pythonVersion(), languages: [...(await session.languages())] },
      usage: { memory_bytes: memoryBytes, peak_memory_bytes: peakMemoryBytes, cpu_ms: cpuMs, oom_kills: oomKills },
      receipt: encodeReceipt(await session.receipt()),
    };
    return { json };
  },
});
