import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { tryImages } from "../../src/runners/linux/disk/image/image-support.ts";

const trial = await mkdtemp(join(tmpdir(), "cc-disks-"));
const support = await tryImages(trial);
await rm(trial, { recursive: true });

/** Why this host cannot give sessions a file system of their own; undefined if it can. */
export const noExactDisk: string | undefined = support.isAvailable ? undefined : support.reason;

/** The title of tests that need it, with the reason if they are skipped. */
export function withExactDisk(title: string): string {
  return noExactDisk === undefined ? title : `${title} (skipped: ${noExactDisk})`;
}

/** What is mounted below a directory. */
export async function mountsBelow(directory: string): Promise<string[]> {
  const lines = (await readFile("/proc/self/mounts", "utf8")).split("\n");
  return lines.map((line) => line.split(" ")[1] ?? "").filter((path) => path.startsWith(`${directory}/`));
}
