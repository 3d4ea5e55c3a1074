import { z } from "zod";

/** Some clients end a call after 60 s, whatever it does. */
const maxWaitSeconds = 45;

export const waitSeconds = z
  .number()
  .min(0)
  .max(maxWaitSeconds)
  .default(maxWaitSeconds)
  .describe("Seconds to wait for the end; after that the answer is status running and a run_id for get_run.");
