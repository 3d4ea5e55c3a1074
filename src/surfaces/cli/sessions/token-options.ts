import type { OptionTable } from "../shell/arguments.ts";
import { databaseOptions } from "../shell/database-options.ts";
import { stateOptions } from "../shell/state-dir.ts";

/** Options of every command about tokens. */
export const tokenOptions = {
  tokens: {
    type: "string",
    value: "FILE",
    help: "Token file (mode 600). Default: tokens.json in the state directory.",
  },
  ...databaseOptions,
  ...stateOptions,
  json: { type: "boolean", help: "Print one JSON object." },
} as const satisfies OptionTable;
