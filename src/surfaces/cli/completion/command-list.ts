import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../../../lib/files/package-root.ts";
import type { Command, CommandEntry } from "../command.ts";

/** What completion needs of a command. */
export type CompletableCommand = Pick<Command, "name" | "usage" | "options">;

export interface CompletableEntry extends Pick<Command, "name" | "summary"> {
  load(): Promise<CompletableCommand>;
}

type ListedCommand = CompletableCommand & Pick<Command, "summary">;

/** Where a build keeps the list, relative to the bundle. */
export const commandListFile = "commands.json";

/** The table of commands as data, for the build. */
export async function makeCommandList(commands: readonly CommandEntry[]): Promise<ListedCommand[]> {
  const loaded = await Promise.all(commands.map(({ load }) => load()));
  return loaded.map(({ name, summary, usage, options }) => ({ name, summary, usage, options }));
}

/**
 * The commands from the list that the build wrote of them: loading a command takes longer than a person who presses Tab wants
 * to wait. Without the list, the commands themselves.
 */
export async function completableCommands(commands: readonly CommandEntry[]): Promise<readonly CompletableEntry[]> {
  try {
    const text = await readFile(join(packageRoot(), "dist", "bundled", commandListFile), "utf8");
    const listed = JSON.parse(text) as ListedCommand[];
    return listed.map((command) => ({ name: command.name, summary: command.summary, load: async () => command }));
  } catch {
    return commands;
  }
}
