import { z } from "zod";
import { artifactSchema } from "./artifact.ts";
import { egressSchema } from "./egress.ts";
import { errorSchema } from "./error.ts";
import { fileListSchema, fileSchema } from "./file.ts";
import { meSchema } from "./me.ts";
import { networkEntrySchema } from "./network.ts";
import { receiptSchema } from "./receipt.ts";
import { receiptSummarySchema } from "./receipt-summary.ts";
import { modelCallSchema } from "./runs/model-call.ts";
import { notebookRunSchema } from "./runs/notebook-run.ts";
import { runSchema } from "./runs/run.ts";
import { runEventSchema } from "./runs/run-event.ts";
import { runSummarySchema } from "./runs/run-summary.ts";
import { toolRunSchema } from "./runs/tool-run.ts";
import { checkpointSchema } from "./sessions/checkpoint.ts";
import { completionsSchema } from "./sessions/completions.ts";
import { historyEntrySchema } from "./sessions/history.ts";
import { lineageSchema } from "./sessions/lineage.ts";
import { sessionDetailSchema, sessionSchema } from "./sessions/session.ts";
import { sessionUsageSchema, usageSampleSchema } from "./sessions/session-usage.ts";
import { restoreSchema, snapshotSchema } from "./sessions/snapshot.ts";
import { undoSchema } from "./sessions/undo.ts";
import { variableSchema } from "./sessions/variable.ts";
import { statisticsSampleSchema } from "./statistics.ts";
import { usageSchema } from "./usage.ts";

/** Every object of the wire format; docs/wire.md describes them. */
export const wireSchemas = {
  run: runSchema,
  run_event: runEventSchema,
  run_summary: runSummarySchema,
  tool_run: toolRunSchema,
  usage: usageSchema,
  egress: egressSchema,
  network_entry: networkEntrySchema,
  model_call: modelCallSchema,
  statistics_sample: statisticsSampleSchema,
  receipt: receiptSchema,
  receipt_summary: receiptSummarySchema,
  session: sessionSchema,
  session_detail: sessionDetailSchema,
  checkpoint: checkpointSchema,
  snapshot: snapshotSchema,
  restore: restoreSchema,
  history_entry: historyEntrySchema,
  notebook_run: notebookRunSchema,
  artifact: artifactSchema,
  file: fileSchema,
  file_list: fileListSchema,
  session_usage: sessionUsageSchema,
  usage_sample: usageSampleSchema,
  lineage: lineageSchema,
  undo: undoSchema,
  me: meSchema,
  completions: completionsSchema,
  variable: variableSchema,
  error: errorSchema,
} as const satisfies Record<string, z.ZodType>;

/** The name of an object of the wire format. */
export type WireName = keyof typeof wireSchemas;
/** The names of all objects of the wire format. */
export const wireNames = Object.keys(wireSchemas) as readonly WireName[];

/** The JSON Schema (draft 2020-12) of one object, or of all of them under `$defs`. */
export function wireJsonSchema(name?: WireName): object {
  if (name !== undefined) return { title: `codecell ${name}`, ...z.toJSONSchema(wireSchemas[name], { io: "output" }) };
  const definitions = wireNames.map((one) => {
    const { $schema: _, ...schema } = z.toJSONSchema(wireSchemas[one], { io: "output" });
    return [one, schema];
  });
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "codecell",
    $defs: Object.fromEntries(definitions),
  };
}
