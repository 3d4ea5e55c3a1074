import { randomBytes } from "node:crypto";
import { mkdirSync } from "node:fs";
import { chmod, chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Cleanup } from "../../lib/cleanup.ts";
import { openRuntimeDirectory } from "../../lib/files/runtime-directory.ts";
import { claimHostDirectory, noteGroups, removeDeadHosts } from "../linux/janitor/dead-hosts.ts";
import { startJanitor } from "../linux/janitor/janitor.ts";
import { findHostRoot, type HostRoot } from "../linux/mounts/host-root.ts";
import { assertEnterable } from "../linux/users/assert-enterable.ts";
import { CellUsers } from "../linux/users/cell-users.ts";
import { type CgroupSupport, detectCgroups } from "./cgroup/cgroup.ts";
import { type ConstantFiles, makeConstantFiles, shareConstantFiles } from "./constant-files.ts";
import type { BubblewrapProbe } from "./probe.ts";
import { findProcMasks, type ProcMasks } from "./proc-masks.ts";
import type { Layout, ProcessFacts } from "./process-facts.ts";
import { hostCpus } from "./process-facts.ts";
import type { RememberedTrial } from "./remembered-trial.ts";
import { seesDescriptors } from "./sees-descriptors.ts";
import { hasSubordinateUids } from "./subordinate-uids.ts";

/** What one host process sets up once for all its cells. */
export interface Host extends ConstantFiles {
  /** part of the name of everything that this process creates on the host */
  readonly tag: string;
  readonly facts: ProcessFacts;
  readonly layouts: WorkingBubblewrap["layouts"];
  /** path of bubblewrap */
  readonly bubblewrap: string;
  /** users for cells, if codecell runs as root */
  readonly users: CellUsers | undefined;
  readonly root: HostRoot;
  readonly masks: ProcMasks;
  readonly runtimeDir: string;
  /** removed when this process exits, even if it is killed */
  readonly ownDir: string;
}

/** How the process runner sets up this host. */
export interface HostOptions {
  readonly runtimeDir?: string;
  readonly layout?: Layout;
  /** one cell is started, so a template that later cells are forked from would cost more than it saves */
  readonly isForOneCell?: boolean;
  /** false: do not use cgroups; for tests: the ones to use, without a trial */
  readonly cgroups?: boolean | object;
}

export type WorkingBubblewrap = Extract<BubblewrapProbe, { available: true }>;

/**
 * Prepares directories, cgroups and the janitor. `cleanup` undoes it. For one cell, what dead hosts left is removed by
 * `removeDeadHosts` after the cell was started, because the command need not wait for it.
 */
export async function openHost(
  probe: WorkingBubblewrap,
  options: HostOptions,
  cleanup: Cleanup,
  remembered?: RememberedTrial,
): Promise<Host> {
  const tag = `cc${randomBytes(6).toString("hex")}`;
  const runtimeDir = await openRuntimeDirectory(options.runtimeDir);
  const openingUsers = CellUsers.open(runtimeDir, cleanup); // meanwhile, because one command waits for all of this
  openingUsers.catch(() => {});
  if (options.runtimeDir !== undefined) await assertEnterable(runtimeDir, await openingUsers);
  const cgroups = await usableCgroups(options, `${tag}-trial`, remembered);
  const ownDir = join(runtimeDir, tag);
  const cgroupDirs = cgroups.kind === "v1" ? Object.values(cgroups.dirs) : cgroups.kind === "v2" ? [cgroups.dir] : [];
  if (!options.isForOneCell) await removeDeadHosts(runtimeDir);
  await claimHostDirectory(ownDir, cleanup);
  const janitor = startJanitor({ tag, cgroupDirs, directories: [ownDir] });
  cleanup.defer(() => janitor[Symbol.asyncDispose]());
  cleanup.defer(() => remembered?.settled());
  mkdirSync(ownDir, { mode: 0o711 });
  const users = await openingUsers;
  noteGroups(ownDir, cgroupDirs);
  const layout = options.layout ?? (probe.layouts.template ? "template" : "direct");
  return {
    ...{ tag, runtimeDir, ownDir },
    ...(options.isForOneCell ? shareConstantFiles(runtimeDir) : makeConstantFiles(ownDir)),
    ...{ root: findHostRoot(), masks: findProcMasks() },
    bubblewrap: probe.path,
    layouts: probe.layouts,
    users,
    facts: {
      bubblewrap: probe.version,
      layout,
      cgroups,
      cpus: hostCpus(),
      users: usersOf(users, layout === "direct" || probe.mapsUsers),
      hasSubordinateUids: users === undefined && hasSubordinateUids(),
      seesDescriptors: seesDescriptors(),
    },
  };
}

/** Whose resources cells use. `canSwitch`: the layout can give each cell its own uid. */
export function usersOf(users: CellUsers | undefined, canSwitch = true): ProcessFacts["users"] {
  if (users === undefined) return "caller";
  return users.lease && canSwitch ? "session" : "policy";
}

const switchedOff: CgroupSupport = { kind: "none", reason: "switched off" };

async function usableCgroups(
  { cgroups }: HostOptions,
  trialName: string,
  remembered: RememberedTrial | undefined,
): Promise<CgroupSupport> {
  if (cgroups === false) return switchedOff;
  return typeof cgroups === "object" ? (cgroups as CgroupSupport) : await detectCgroups({ trialName, remembered });
}

/** Creates a directory that only this uid can use. */
export async function makeDirectoryFor(uid: number | undefined, path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 });
  await chmod(path, 0o700);
  if (uid !== undefined) await chown(path, uid, uid);
}
