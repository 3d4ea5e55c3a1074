import { z } from "zod";

/** Some clients time out every call after 60 s. */
const maxWaitSeconds = 45;

export const waitSeconds = z
  .number()
  .min(0)
  .max(maxWaitSeconds)
  .default(maxWaitSeconds)
  .describe("Seconds to wait for the result; after that the status is running, with a run_id for get_run.");
