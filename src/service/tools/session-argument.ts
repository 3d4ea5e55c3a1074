import { z } from "zod";

/** As `session_id`: start another session. */
export const newSession = "new";

/** For tools that use the default session unless told. */
export const sessionArgument = z.string().optional();
