import { availableParallelism } from "node:os";
import type { CgroupSupport } from "./cgroup/cgroup.ts";

/** Two ways to start a cell with the same supervisor: forked from a template, or with its own bubblewrap. */
export type Layout = "template" | "direct";

/** What this host supports. Plans and cells depend on it. */
export interface ProcessFacts {
  /** version of bubblewrap */
  readonly bubblewrap: string;
  readonly layout: Layout;
  readonly cgroups: CgroupSupport;
  readonly cpus: number;
  /**
   * whose resources cells use: each its own user's, those of one user per policy, or those of the user who runs codecell.
   * The owner of a policy's writable host directories takes precedence.
   */
  readonly users: "session" | "policy" | "caller";
  /** an ordinary user who could give each cell a uid of its own: see `subordinateUids` */
  readonly hasSubordinateUids?: boolean;
  /** codecell can look at the open files of cells */
  readonly seesDescriptors: boolean;
}

export function hostCpus(): number {
  return availableParallelism();
}
