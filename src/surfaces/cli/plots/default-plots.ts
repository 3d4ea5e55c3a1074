import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectories } from "../../../lib/files/make-directories.ts";

/** How many runs keep their plots. */
const keptRuns = 20;
const runName = /^\d{8}-\d{6}(?:-\d{1,4})?$/;

/** Where the plots of a session are: beside its record, where no cell sees them, and deleted with it. */
export function sessionPlots(stateDir: string, id: string): string {
  return join(stateDir, "sessions", id, "plots");
}

/** Creates a directory for the plots of one run in a fresh cell, and removes those of old runs. */
export async function newRunPlots(stateDir: string, now = new Date()): Promise<string> {
  const root = join(stateDir, "plots");
  await makeDirectories(root, 0o700);
  const path = await newDirectory(root, timeName(now));
  await removeOld(root);
  return path;
}

async function newDirectory(root: string, name: string): Promise<string> {
  for (let count = 1; ; count++) {
    const path = join(root, count === 1 ? name : `${name}-${count}`);
    try {
      await mkdir(path, 0o700);
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST" || count >= 9999) throw error;
    }
  }
}

/** What has another name is not ours. */
async function removeOld(root: string): Promise<void> {
  const byAge = (a: string, b: string) => a.localeCompare(b, "en", { numeric: true });
  const names = (await readdir(root)).filter((name) => runName.test(name)).sort(byAge);
  for (const name of names.slice(0, -keptRuns))
    await rm(join(root, name), { recursive: true, force: true }).catch(() => {});
}

/** `20260131-184502`, in local time, so that names sort by age. */
function timeName(now: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${now.getFullYear()}${two(now.getMonth() + 1)}${two(now.getDate())}`;
  return `${day}-${two(now.getHours())}${two(now.getMinutes())}${two(now.getSeconds())}`;
}
