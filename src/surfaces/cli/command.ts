import type { Logger } from "../../lib/log/logger.ts";
import type { RunnersUse } from "../../sessions/built-in-runners.ts";
import type { Runner } from "./sessions/session-types.ts";
import type { OptionTable } from "./shell/arguments.ts";
import type { Terminal } from "./shell/terminal.ts";

/** What a command gets besides its arguments. */
export interface CommandContext {
  readonly terminal: Terminal;
  /** the process exits after the command, so settings of the whole process may change; tests share theirs */
  readonly ownsProcess?: boolean;
  /** name of the command, which `codecell ps` shows for the sessions that it holds */
  readonly command?: string;
  /** every command, for the one that completes their names */
  readonly commands?: readonly CommandEntry[];
  /** Creates every runner, or those for a use. This starts nothing; the caller disposes them. */
  runners(logger: Logger, use?: RunnersUse): Runner[] | Promise<Runner[]>;
}

/** A command that is not loaded yet. Its name and summary are here too, so that the overview loads no command. */
export interface CommandEntry extends Pick<Command, "name" | "summary"> {
  load(): Promise<Command>;
}

/** One command: its help, and what it does. */
export interface Command {
  /** as typed after `codecell` */
  readonly name: string;
  readonly summary: string;
  readonly usage: string;
  readonly options: OptionTable;
  /** paragraphs below the options */
  readonly notes?: readonly string[];
  /** a command line and what it does */
  readonly examples: readonly (readonly [string, string])[];
  /** Returns the exit code. */
  run(argv: readonly string[], context: CommandContext): Promise<number>;
}
