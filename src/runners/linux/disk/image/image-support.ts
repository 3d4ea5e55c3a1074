import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../../lib/errors.ts";
import { mountImage, openMounted, unmount, writeImage } from "./disk-image.ts";

/** Whether this host can give a session a file system of its own. */
export type ImageSupport =
  | { readonly isAvailable: true }
  | { readonly isAvailable: false; readonly reason: string; readonly hint: string };

const trialBytes = 4 * 2 ** 20;

/** Tries it: makes a small image, mounts it, unmounts it. `directory` is one of codecell's own. */
export async function tryImages(directory: string): Promise<ImageSupport> {
  if (process.platform !== "linux") return unavailable("it needs loop devices of Linux", "use the wasm runner");
  if (process.getuid?.() !== 0) {
    const hint = "run codecell as root, or set proc.exactDisk to false";
    return unavailable("only root can mount a file system for each session", hint);
  }
  const trial = await mkdtemp(join(directory, "disk-trial-"));
  const mounted = join(trial, "files");
  try {
    await mkdir(mounted);
    await writeImage(join(trial, "image"), trialBytes);
    await mountImage(join(trial, "image"), mounted);
    const handle = await openMounted(mounted);
    await handle?.close();
    return handle ? { isAvailable: true } : unavailable("a mounted image does not appear here", remedy);
  } catch (error) {
    return unavailable(`an ext4 image could not be mounted: ${messageOf(error)}`, remedy);
  } finally {
    await unmount(mounted);
    await rm(trial, { recursive: true, force: true });
  }
}

const remedy = "install e2fsprogs and allow loop devices and mounts, or set proc.exactDisk to false";

function unavailable(reason: string, hint: string): ImageSupport {
  return { isAvailable: false, reason, hint };
}
