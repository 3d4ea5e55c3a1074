import { z } from "zod";

/** A plain name: an expression would be code, and reading is not running. */
export const variableName = z
  .string()
  .max(200)
  .regex(/^[\p{XID_Start}_][\p{XID_Continue}]*$/u, "expected the name of a Python variable");
