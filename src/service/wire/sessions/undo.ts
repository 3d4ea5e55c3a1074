import { z } from "zod";

export const undoSchema = z.strictObject({
  run: z.int().describe("number of the run that was undone: the variables are as they were before it"),
  left: z.int().describe("how many more runs can be undone"),
});
/** What an undo did, in the wire format. */
export type WireUndo = z.output<typeof undoSchema>;
