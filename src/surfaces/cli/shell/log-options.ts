import { resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { type LogFormat, type LogLevel, logFormats, logLevels } from "../../../lib/log/log-line.ts";
import type { OptionTable } from "./arguments.ts";
import type { Terminal } from "./terminal.ts";

/** Options for operational messages: where they go, and which level. */
export const logOptions = {
  "log-level": {
    type: "string",
    value: "LEVEL",
    help: "Log level: debug, info, warn or error. Default: $CODECELL_LOG, else info.",
  },
  "log-format": {
    type: "string",
    value: "text|json",
    help: "Log one message per line to stderr, with time and level.",
  },
  "log-file": {
    type: "string",
    value: "FILE",
    help: "Append log messages to a file, as JSON unless --log-format is text.",
  },
} as const satisfies OptionTable;

export interface LogFlags {
  readonly "log-level"?: string | undefined;
  readonly "log-format"?: string | undefined;
  readonly "log-file"?: string | undefined;
  readonly verbose?: boolean | undefined;
}

export interface LogSettings {
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** undefined: stderr */
  readonly file?: string;
}

/** Undefined: no log was requested, and stderr is for people. */
export function logSettings(flags: LogFlags, { env, cwd }: Pick<Terminal, "env" | "cwd">): LogSettings | undefined {
  const level = choice("--log-level", flags["log-level"], "CODECELL_LOG", env, logLevels);
  const format = choice("--log-format", flags["log-format"], "CODECELL_LOG_FORMAT", env, logFormats);
  const file = flags["log-file"] ?? (env.CODECELL_LOG_FILE || undefined);
  if (level === undefined && format === undefined && file === undefined) return undefined;
  const chosen = level ?? (flags.verbose ? "debug" : "info");
  if (file === undefined) return { level: chosen, format: format ?? "text" };
  return { level: chosen, format: format ?? "json", file: resolve(cwd, file) };
}

function choice<Word extends string>(
  flag: string,
  given: string | undefined,
  variable: string,
  env: Terminal["env"],
  words: readonly Word[],
): Word | undefined {
  const text = given ?? (env[variable] || undefined);
  if (text === undefined) return undefined;
  const word = words.find((one) => one === text.toLowerCase());
  if (word !== undefined) return word;
  const name = given === undefined ? variable : flag;
  throw new CodecellError("usage", `${name}: unknown value ${JSON.stringify(text.slice(0, 100))}`, {
    hint: `use one of: ${words.join(", ")}`,
  });
}
