import { posix } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import type { BindMount } from "../cell/bind-mounts.ts";
import type { ImageInEngine } from "./image-list.ts";

/**
 * Pure: read-only mounts that cover the volumes of an image. An engine backs each volume with a writable directory on the
 * host's disk, without a size limit and even if the root is read-only. This stops code in the cell from filling that disk.
 * `taken` are the targets of the cell's own mounts.
 */
export function coveredVolumes(
  { name, volumes }: Pick<ImageInEngine, "name" | "volumes">,
  emptyDirectory: string,
  taken: readonly string[],
): BindMount[] {
  const targets = new Set(volumes.map((volume) => (volume.startsWith("/") ? posix.resolve(volume) : volume)));
  return [...targets]
    .filter((target) => !taken.includes(target))
    .map((target) => {
      // Engines accept a volume with a relative path, but no mount over it.
      if (!target.startsWith("/") || [...taken, ...targets].some((path) => isBelow(path, target))) {
        throw new CodecellError(
          "cell_start_failed",
          `the image ${name} declares a volume at ${target}, which codecell cannot cover`,
          {
            hint: "set kernel.image to an image without this volume",
          },
        );
      }
      return { source: emptyDirectory, target, readOnly: true };
    });
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === "/" ? directory : `${directory}/`);
}
