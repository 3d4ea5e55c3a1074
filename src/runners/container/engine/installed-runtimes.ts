import { access } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

/** Where Podman looks for a runtime. It reports only the first location, whether or not the program exists there. */
const directories = [
  ...["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/sbin", "/bin", "/opt/kata/bin"],
  "/run/current-system/sw/bin",
];

const runtimeSchema = z.object({ path: z.string().startsWith("/") });

/**
 * The runtimes of Podman on this machine whose program exists. Podman lists every runtime that it knows, and `auto` would
 * choose gVisor on a machine without it.
 */
export async function installedRuntimes(named: Readonly<Record<string, unknown>>): Promise<string[]> {
  const installed = await Promise.all(
    Object.entries(named).map(async ([name, description]) => {
      const { success, data } = runtimeSchema.safeParse(description);
      return !success || (await isInstalled(data.path)) ? [name] : [];
    }),
  );
  return installed.flat();
}

async function isInstalled(path: string): Promise<boolean> {
  const found = [dirname(path), ...directories].map((directory) => access(join(directory, basename(path))));
  return Promise.any(found).then(
    () => true,
    () => false,
  );
}
