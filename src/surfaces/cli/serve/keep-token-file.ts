import { join } from "node:path";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { keepLivingFile, removeDeadFiles } from "../../../lib/files/living-file.ts";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";

export interface MadeToken {
  readonly token: string;
  /** the server that accepts it */
  readonly server: "serve" | "mcp";
  readonly port: number;
  /** default: the user's runtime directory */
  readonly runtimeDir: string | undefined;
}

/**
 * Keeps a temporary token in a file while the server is running, for programs of the same user. Also removes the files
 * of servers that were killed.
 */
export async function keepTokenFile(made: MadeToken, cleanup: Cleanup): Promise<string> {
  const directory = await openRuntimeDirectory(made.runtimeDir);
  await removeDeadFiles(directory, (name) => name.endsWith(".token"));
  for (let count = 1; ; count++) {
    // a server on another address of this machine may have the same port
    const name = `${made.server}-${made.port}${count === 1 ? "" : `-${count}`}.token`;
    const kept = await keepLivingFile(join(directory, name), `${made.token}\n`);
    if (!kept) continue;
    cleanup.defer(() => kept[Symbol.asyncDispose]());
    return join(directory, name);
  }
}
