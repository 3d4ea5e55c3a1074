import type { TerminalSignal } from "./terminal.ts";

/**
 * Whether a signal after the first one means that somebody is impatient, and the process has to exit at once. The others come
 * together when a terminal is closed or a service manager stops its group: what was begun, such as a save, has to be finished then.
 */
export function asksAgain(signal: TerminalSignal): boolean {
  return signal === "SIGINT" || signal === "SIGTERM";
}
