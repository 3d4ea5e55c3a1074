import { z } from "zod";

/** Some clients time out every call after 60 s. */
const maxWaitSeconds = 45;

export const waitSeconds = z
  .number()
  .min(0)
  .max(maxWaitSeconds)
  .default(maxWaitSeconds)
  .describe("Seconds until the call returns; a run that needs longer goes on, for get_run.");
