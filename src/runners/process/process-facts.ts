import { availableParallelism } from "node:os";
import type { CgroupSupport } from "./cgroup.ts";

/** Two ways to make a cell, over the same supervisor: forked from a template, or one bubblewrap for each. */
export type Layout = "template" | "direct";

/** What this host offers; plans and cells follow from it. */
export interface ProcessFacts {
  /** version of bubblewrap */
  readonly bubblewrap: string;
  readonly layout: Layout;
  readonly cgroups: CgroupSupport;
  readonly cpus: number;
}

export function hostCpus(): number {
  return availableParallelism();
}
