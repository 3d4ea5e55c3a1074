import type { PackageProgress } from "../../../packages/package-progress.ts";
import type { PackageOptions } from "../../../sessions/packages/session-packages.ts";
import { formatBytes } from "../format/text/format-bytes.ts";
import { safeText } from "../format/text/safe-text.ts";
import type { CommandLogger } from "../shell/command-logger.ts";
import type { Output, Terminal } from "../shell/terminal.ts";
import type { RequestedPackages } from "./requested-packages.ts";

/** What a command tells the codecell about packages, and how it shows the work on them. */
export function packageOptionsFor(
  requested: RequestedPackages | undefined,
  { stderr }: Terminal,
  logger: Pick<CommandLogger, "ownsStderr" | "background">,
): PackageOptions {
  const printer = new PackageProgressPrinter(stderr);
  return {
    ...(requested ? { origins: requested.origins } : {}),
    ...{ requiresPython: requested?.requiresPython, offline: requested?.offline },
    onProgress: (event) => (logger.ownsStderr ? logger.background.debug(textOf(event)) : printer.print(event)),
    onSettled: () => printer.clear(),
  };
}

/** Shows what is going on: a line for each download, and on a terminal a live line for every step. */
export class PackageProgressPrinter {
  readonly #stderr: Output;
  readonly #announced = new Set<string>();
  #hasLiveLine = false;

  constructor(stderr: Output) {
    this.#stderr = stderr;
  }

  print(event: PackageProgress): void {
    if (event.kind === "downloading" || event.kind === "building") this.#announce(event);
    if (!this.#stderr.isTTY) return;
    this.#stderr.write(`\r\u001b[2K${shorten(`  ${textOf(event)}`, this.#stderr.columns - 1)}`);
    this.#hasLiveLine = true;
  }

  /** Removes the live line. */
  clear(): void {
    if (this.#hasLiveLine) this.#stderr.write("\r\u001b[2K");
    this.#hasLiveLine = false;
  }

  #announce(event: PackageProgress & { kind: "downloading" | "building" }): void {
    const what = `${event.kind} ${event.name} ${event.version}`;
    if (this.#announced.has(what)) return;
    this.#announced.add(what);
    this.clear();
    this.#stderr.write(`codecell: ${safeText(what)}${noteOf(event)}\n`);
  }
}

function noteOf(event: PackageProgress & { kind: "downloading" | "building" }): string {
  if (event.kind === "building") return " in a cell of its own";
  return event.totalBytes === undefined ? "" : ` (${formatBytes(event.totalBytes)})`;
}

/** Names come from an index: they must not write escape sequences to the terminal. */
function textOf(event: PackageProgress): string {
  switch (event.kind) {
    case "resolving":
      return `resolving ${safeText(event.name)}`;
    case "downloading": {
      const share = event.totalBytes ? ` of ${formatBytes(event.totalBytes)}` : "";
      return `downloading ${safeText(event.name)} ${safeText(event.version)}: ${formatBytes(event.bytes)}${share}`;
    }
    case "building":
      return `building ${safeText(event.name)} ${safeText(event.version)}`;
    case "unpacking":
      return `unpacking ${safeText(event.name)} ${safeText(event.version)}`;
  }
}

function shorten(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, Math.max(0, width - 1))}…` : text;
}
