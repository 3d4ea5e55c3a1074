import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Cleanup } from "../../../lib/cleanup.ts";
import { keepLivingFile, removeDeadFiles } from "../../../lib/files/living-file.ts";
import { openRuntimeDirectory } from "../../../lib/files/runtime-directory.ts";

/** What opens an address in the user's browser, by platform. */
const openers: Readonly<Record<string, readonly string[]>> = {
  darwin: ["open"],
  win32: ["explorer"],
  linux: ["xdg-open"],
};

export interface BrowserOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly runtimeDir: string | undefined;
  readonly port: number;
  readonly platform?: string;
}

/**
 * Opens a link in a browser. Returns why that failed; undefined: it was opened. The attack: every user of the machine can read the
 * arguments of a process, and the link has a token. So the browser gets a file that only this user can read, and the file has the link.
 */
export async function openBrowser(
  link: string,
  options: BrowserOptions,
  cleanup: Cleanup,
): Promise<string | undefined> {
  const { env, port, platform = process.platform } = options;
  const opener = env.BROWSER ? [env.BROWSER] : openers[platform];
  const [command, ...args] = opener ?? [];
  if (command === undefined) return `codecell does not know how to open a browser on ${platform}`;
  const directory = await openRuntimeDirectory(options.runtimeDir);
  await removeDeadFiles(directory, (name) => name.endsWith(".html"));
  const path = join(directory, `dashboard-${port}.html`);
  const kept = await keepLivingFile(path, redirectPage(link));
  if (!kept) return `${path} belongs to another process`;
  cleanup.defer(() => kept[Symbol.asyncDispose]());
  return start(command, [...args, path], env);
}

/** Pure: a page that goes to `link`, which has only the characters of a URL. */
export function redirectPage(link: string): string {
  const address = link.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
  return `<!doctype html>\n<meta charset="utf-8">\n<meta name="referrer" content="no-referrer">\n<meta http-equiv="refresh" content="0; url=${address}">\n<title>codecell</title>\n`;
}

/** Starts a program and does not wait for it. */
function start(command: string, args: readonly string[], env: BrowserOptions["env"]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: "ignore", detached: true, env });
    child.once("error", (error) => resolve(`${command} could not be started: ${error.message}`));
    child.once("spawn", () => {
      child.unref();
      resolve(undefined);
    });
  });
}
