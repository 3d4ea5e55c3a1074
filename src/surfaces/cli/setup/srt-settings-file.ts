import { createHash } from "node:crypto";
import { chmod, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { writeFileAtomically } from "../../../lib/files/atomic-file.ts";
import { makeDirectories } from "../../../lib/files/make-directories.ts";
import { stateDirectory } from "../../../lib/files/state-directory.ts";
import type { SrtSettings } from "../../../policy/srt/srt-settings.ts";
import type { Terminal } from "../shell/terminal.ts";

/** The paths of one wrapped server. */
export interface WrapPlaces {
  readonly settingsFile: string;
  /** the server's own `XDG_STATE_HOME` */
  readonly stateHome: string;
}

/**
 * Each registration has its own paths. The attack: a compromised server that can write its own settings, or the state of
 * codecell outside srt, escapes at its next start or at the next `codecell run`.
 */
export function wrapPlaces(scope: string, { cwd, env }: Pick<Terminal, "cwd" | "env">): WrapPlaces {
  const project = createHash("sha256").update(cwd).digest("hex").slice(0, 12);
  const name = scope === "user" ? "user" : `${scope}-${project}`;
  const directory = join(stateDirectory(env), "srt");
  return { settingsFile: join(directory, `${name}.json`), stateHome: join(directory, name) };
}

/** Writes the settings, readable by this user only. Returns whether the file changed. */
export async function writeSrtSettings(
  { settingsFile, stateHome }: WrapPlaces,
  settings: SrtSettings,
): Promise<boolean> {
  const text = `${JSON.stringify(settings, undefined, 2)}\n`;
  await makeDirectories(dirname(settingsFile), 0o711);
  // srt mounts only existing directories. Mode 711: as root, cells run under another uid and must reach the runtime's files.
  await makeDirectories(join(stateHome, "codecell"), 0o711);
  await chmod(stateHome, 0o711);
  const before = await readFile(settingsFile, "utf8").catch(() => undefined);
  if (before === text) return false;
  await writeFileAtomically(settingsFile, text);
  return true;
}

/** Removes the settings, and returns whether there were any. The server's sessions are kept. */
export async function removeSrtSettings({ settingsFile }: WrapPlaces): Promise<boolean> {
  return rm(settingsFile).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return false;
      throw error;
    },
  );
}
