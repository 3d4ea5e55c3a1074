import { posix } from "node:path";
import { CodecellError } from "../../../lib/errors.ts";
import type { BindMount } from "../cell/bind-mounts.ts";
import type { ImageInEngine } from "./image-list.ts";

/**
 * Pure: what covers the volumes that an image declares. An engine gives each a directory of its own disk, writable and
 * without a limit, however read-only the root is: code in the cell could fill the host's disk there. `taken` are the places
 * where a cell has something of its own.
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
      // Engines take a relative one as it is, and no mount for it.
      if (!target.startsWith("/") || [...taken, ...targets].some((place) => isBelow(place, target))) {
        throw new CodecellError(
          "cell_start_failed",
          `the image ${name} keeps ${target} in a volume, where no cell can`,
          {
            hint: "name an image without it in kernel.image",
          },
        );
      }
      return { source: emptyDirectory, target, readOnly: true };
    });
}

function isBelow(path: string, directory: string): boolean {
  return path.startsWith(directory === "/" ? directory : `${directory}/`);
}
