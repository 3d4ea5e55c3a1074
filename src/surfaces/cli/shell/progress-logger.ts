import type { Logger } from "../../../lib/log/logger.ts";
import { safeText } from "../format/text/safe-text.ts";
import type { Output } from "./terminal.ts";

/** Prints progress for people if stderr is a terminal; with `verbose`, prints everything wherever stderr goes. */
export function progressLogger(stderr: Output, verbose: boolean): Logger {
  const print = (message: string, facts: Record<string, unknown> = {}) => {
    const known = Object.entries(facts).map(([name, value]) => `${name}=${showFact(value)}`);
    const suffix = verbose && known.length > 0 ? ` (${known.join(", ")})` : "";
    stderr.write(`codecell: ${safeText(message + suffix)}\n`);
  };
  const onlyVerbose = verbose ? print : () => {};
  const forPeople = verbose || stderr.isTTY ? print : () => {};
  return { debug: onlyVerbose, info: forPeople, warn: forPeople, error: print };
}

function showFact(value: unknown): string {
  if (value instanceof Error) return value.message;
  return typeof value === "string" ? value : (JSON.stringify(value) ?? String(value));
}
