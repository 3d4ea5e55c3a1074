import { hostMounts, mountIdOf } from "../lib/files/mountinfo.ts";
import { isBelow } from "../policy/paths/host-path.ts";
import { otherPaths } from "../policy/paths/other-paths.ts";

/**
 * The ids of the mounts that the host reads below a shared workspace: its own, and file systems that are mounted nowhere else.
 * The attack: a bind mount shows `~/.aws` under a harmless name. The cell does not see it, and the host must not read it out
 * either. So bind mounts are left out, and so is what is mounted after the session has started. Undefined: the OS does not say.
 */
export async function visibleMounts(root: string): Promise<ReadonlySet<string> | undefined> {
  const own = await mountIdOf(root);
  if (own === undefined) return undefined;
  const table = await hostMounts();
  const visible = new Set([own]);
  for (const { id, point } of table) {
    if (!isBelow(point, root) || (await mountIdOf(point)) !== id) continue;
    if (otherPaths(point, id, table).length === 0) visible.add(id);
  }
  return visible;
}
