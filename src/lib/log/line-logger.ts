import { type LogFormat, type LogLevel, logLevels, logLine } from "./log-line.ts";
import type { Logger } from "./logger.ts";

export interface LineLoggerOptions {
  readonly level: LogLevel;
  readonly format: LogFormat;
  readonly write: (line: string) => void;
  /** removes what must not be in any line */
  readonly hide?: (text: string) => string;
  /** wall-clock milliseconds */
  readonly now?: () => number;
}

/** A logger that writes one line per message, from a level on. */
export function lineLogger({ level, format, write, hide, now = Date.now }: LineLoggerOptions): Logger {
  const from = (one: LogLevel) => {
    if (logLevels.indexOf(one) < logLevels.indexOf(level)) return () => {};
    return (message: string, facts: Record<string, unknown> = {}) =>
      write(logLine({ timeMs: now(), level: one, message, facts }, format, hide));
  };
  return { debug: from("debug"), info: from("info"), warn: from("warn"), error: from("error") };
}

/** Passes each message to all of them. */
export function allOf(...loggers: readonly Logger[]): Logger {
  const to = (level: LogLevel) => (message: string, facts?: Record<string, unknown>) => {
    for (const logger of loggers) logger[level](message, facts);
  };
  return { debug: to("debug"), info: to("info"), warn: to("warn"), error: to("error") };
}
