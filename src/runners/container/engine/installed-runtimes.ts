import { access } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

/** Where Podman looks for a runtime; it tells the first place only, whether something is there or not. */
const places = [
  ...["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/sbin", "/bin", "/opt/kata/bin"],
  "/run/current-system/sw/bin",
];

const runtimeSchema = z.object({ path: z.string().startsWith("/") });

/**
 * Of the runtimes that a Podman of this machine names, those whose program is there. It names every one that it has heard of,
 * and `auto` would take gVisor on a machine that has none.
 */
export async function installedRuntimes(named: Readonly<Record<string, unknown>>): Promise<string[]> {
  const checked = await Promise.all(
    Object.entries(named).map(async ([name, said]) => {
      const { success, data } = runtimeSchema.safeParse(said);
      return !success || (await isThere(data.path)) ? [name] : [];
    }),
  );
  return checked.flat();
}

async function isThere(path: string): Promise<boolean> {
  const found = [dirname(path), ...places].map((place) => access(join(place, basename(path))));
  return Promise.any(found).then(
    () => true,
    () => false,
  );
}
