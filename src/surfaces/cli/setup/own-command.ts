import { existsSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "./find-srt.ts";

/** Node and the script of this installation, as absolute paths. They work in every directory and with every PATH. */
export function ownCommand(): [node: string, script: string] {
  return [process.execPath, join(packageDirectory(), "bin", "codecell.js")];
}

/**
 * The command for a file that other machines share: the name alone, if `codecell` on PATH is this installation. It never
 * names a package to download, because anyone could register a name that is not published yet.
 */
export async function sharedCommand(searchPath: string): Promise<string[]> {
  const own = ownCommand();
  const script = await realpath(own[1]).catch(() => own[1]);
  const found = await findProgram("codecell", searchPath);
  return found !== undefined && (await realpath(found)) === script ? ["codecell"] : own;
}

/** The nearest directory above this file with a package.json, wherever the build puts this file. */
function packageDirectory(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let directory = start; directory !== dirname(directory); directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
  }
  return start;
}
