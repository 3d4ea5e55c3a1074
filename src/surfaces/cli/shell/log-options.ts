import { resolve } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import { type LogFormat, type LogLevel, logFormats, logLevels } from "../../../lib/log/log-line.ts";
import type { OptionTable } from "./arguments.ts";
import type { Terminal } from "./terminal.ts";

/** Options of commands that do more than look: where operational messages go, and which. */
export const logOptions = {
  "log-level": { type: "string", value: "LEVEL", help: "debug, info, warn or error. Default: info, or $CODECELL_LOG." },
  "log-format": { type: "string", value: "text|json", help: "One message per line on stderr, with time and level." },
  "log-file": {
    type: "string",
    value: "FILE",
    help: "Append messages to a file, as JSON unless --log-format says text.",
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
  /** absent: stderr */
  readonly file?: string;
}

/** Undefined: nobody asked for a log, and stderr is for people. */
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
  throw new CodecellError("usage", `${name}: there is no ${JSON.stringify(text.slice(0, 100))}`, {
    hint: `one of ${words.join(", ")}`,
  });
}
