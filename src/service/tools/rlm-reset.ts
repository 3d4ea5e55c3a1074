import { z } from "zod";
import { defineTool } from "./tool.ts";

const stopWithinMs = 5_000;

export const rlmResetTool = defineTool({
  name: "rlm_reset",
  title: "Clear the shared session",
  description: "Stop the run of the shared session and clear its variables and checkpoints. Files stay.",
  input: z.strictObject({}),
  output: z.object({ session_id: z.string(), cleared: z.boolean() }),
  effect: "destroys",
  isIdempotent: true,
  async call(_args, sandbox) {
    const session = await sandbox.defaultSession();
    const running = sandbox.runs.running(session.id);
    for (const { runId } of running) {
      sandbox.runs.cancel(runId);
      await sandbox.runs.wait(runId, { timeoutMs: stopWithinMs }).catch(() => {});
    }
    await session.reset();
    return { facts: { session_id: session.id, cleared: true }, text: "cleared; files in the working directory stay" };
  },
});
