import { valueHider } from "../../../lib/hide-values.ts";
import { allOf, lineLogger } from "../../../lib/log/line-logger.ts";
import { LogFile } from "../../../lib/log/log-file.ts";
import { logLine } from "../../../lib/log/log-line.ts";
import { type Logger, silentLogger } from "../../../lib/log/logger.ts";
import { safeText } from "../format/text/safe-text.ts";
import { type LogFlags, type LogSettings, logSettings } from "./log-options.ts";
import { progressLogger } from "./progress-logger.ts";
import type { Terminal } from "./terminal.ts";

/** The operational messages of one command. They go to stderr or to a file, never to stdout. */
export interface CommandLogger extends Logger, Disposable {
  /** for the log only: what a command reports itself is not repeated on stderr, except with `--verbose` */
  readonly background: Logger;
  /** the path of the log, if it is a file */
  readonly file: string | undefined;
  /** whether every line on stderr is one message of the log, for programs that read it */
  readonly ownsStderr: boolean;
  /** Removes these values from every later line; the names stay. */
  hide(env: Readonly<Record<string, string | undefined>>): void;
  /** Prints lines with `--verbose`, and logs them at level debug. */
  explain(lines: readonly string[]): void;
  /** Prints a message for the user who starts a server, and logs it. */
  announce(message: string, facts?: Record<string, unknown>): void;
}

/** Names of variables whose values are credentials and never appear in the log. */
const secretName = /TOKEN|KEY|SECRET|PASSW|CREDENTIAL|AUTH/i;

/** Opens the log that flags and environment request; without them, stderr only has messages for people. */
export function openCommandLogger(flags: LogFlags, terminal: Terminal): CommandLogger {
  const { stderr, env } = terminal;
  const settings = logSettings(flags, terminal);
  let hidden: Readonly<Record<string, string | undefined>> = {};
  let hider: ((text: string) => string) | undefined;
  const hide = (more: Readonly<Record<string, string | undefined>>) => {
    hidden = { ...hidden, ...more };
    hider = valueHider(hidden);
  };
  hide(Object.fromEntries(Object.entries(env).filter(([name]) => secretName.test(name))));
  const hideNow = (text: string) => hider?.(text) ?? text;
  const file = settings?.file === undefined ? undefined : openFile(settings.file, settings, terminal);
  const write = (line: string) => (file ? file.write(line) : stderr.write(line));
  const log = settings ? lineLogger({ ...settings, write, hide: hideNow }) : silentLogger;
  const ownsStderr = settings !== undefined && file === undefined;
  const forPeople = ownsStderr ? silentLogger : progressLogger(stderr, flags.verbose === true);
  const tell = (message: string) => stderr.write(`codecell: ${safeText(message)}\n`);
  return {
    ...allOf(forPeople, log),
    background: flags.verbose ? allOf(forPeople, log) : log,
    file: file?.path,
    ...{ ownsStderr, hide },
    explain(lines) {
      if (!ownsStderr && flags.verbose) for (const line of lines) tell(line);
      for (const line of lines) log.debug(line);
    },
    announce(message, facts) {
      if (!ownsStderr) tell(message);
      log.info(message, facts);
    },
    [Symbol.dispose]: () => file?.[Symbol.dispose](),
  };
}

function openFile(path: string, { format }: LogSettings, { stderr }: Terminal): LogFile {
  return new LogFile(path, {
    onProblem: (message) => stderr.write(`codecell: ${safeText(message)}\n`),
    lostLine: (count) =>
      logLine(
        { timeMs: Date.now(), level: "warn", message: "messages could not be written", facts: { count } },
        format,
      ),
  });
}
