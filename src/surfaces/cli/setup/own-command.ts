import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { packageRoot } from "../../../lib/files/package-root.ts";
import { findProgram } from "./find-srt.ts";

/** Node and the script of this installation, as absolute paths. They work in every directory and with every PATH. */
export function ownCommand(): [node: string, script: string] {
  return [process.execPath, join(packageRoot(), "bin", "codecell.js")];
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
