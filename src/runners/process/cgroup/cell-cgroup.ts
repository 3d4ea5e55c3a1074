import { join } from "node:path";
import { Cleanup } from "../../../lib/cleanup.ts";
import { CodecellError } from "../../../lib/errors.ts";
import type { CellUsage } from "../../cell-usage.ts";
import { separateFiles, separateUsage, unifiedFiles, unifiedUsage } from "../../linux/cgroup-usage.ts";
import type { CgroupSupport } from "./cgroup.ts";
import { type CgroupFiles, Counters, errorCode, realCgroupFiles } from "./cgroup-files.ts";
import { killMembers, killPresent, removeCgroup } from "./cgroup-removal.ts";

export interface CgroupLimits {
  /** limit for heap and tmpfs together, because tmpfs pages count as the cell's memory */
  readonly memoryBytes: number;
  /** limit for the buffers of TCP and UDP sockets, which v1 counts separately; in v2 they are part of the memory */
  readonly socketBytes: number;
  readonly pids: number;
  readonly cpus: number;
}

/** A file in which the cell's first process writes "0" to move itself. In v1 this avoids the Linux kernel's global lock. */
export interface CgroupPlacement {
  readonly controller: string;
  /** host directory of the cell's group */
  readonly path: string;
  readonly file: "tasks" | "cgroup.procs";
}

/** The cgroups of one cell. Disposing kills the processes that are left in them, and removes them. */
export interface CellCgroup extends AsyncDisposable {
  /** empty if a process of another uid may not move itself (v2 without a delegated group); call `place` instead */
  readonly placement: readonly CgroupPlacement[];
  /** Moves a process, by its pid on the host, into the groups. Slower than if it moves itself. */
  place(pid: number): Promise<void>;
  usage(): Promise<CellUsage>;
  /** Gives way to other groups where processors are scarce, or has the usual share again. */
  giveWay(givesWay: boolean): Promise<void>;
  kill(): Promise<void>;
  /** Kills all processes but the one with this pid on the host, once. */
  killAllBut(pid: number): Promise<void>;
}

export interface CellCgroupOptions {
  /** the uid that writes the placement files; default: codecell's own */
  readonly ownerUid?: number;
  readonly files?: CgroupFiles;
}

const periodUs = 100_000;
/** Shares of a processor, if several groups want it: the usual one, and a thirty-second of it. */
const shares = { v2: { usual: 100, low: 3 }, v1: { usual: 1024, low: 32 } };

/** A file of v1. The Linux kernel counts UDP here too, despite the name. */
export const socketLimitFile = "memory.kmem.tcp.limit_in_bytes";

/** Creates the groups of a cell and sets its limits. If one cannot be set, it removes the groups and throws. */
export async function createCellCgroup(
  support: Exclude<CgroupSupport, { kind: "none" }>,
  name: string,
  limits: CgroupLimits,
  options: CellCgroupOptions = {},
): Promise<CellCgroup> {
  // stops path traversal: the name becomes a path in a tree that root owns
  if (!/^[a-z0-9][a-z0-9-]{0,100}$/.test(name)) throw new CodecellError("internal", `not a cgroup name: ${name}`);
  const { files = realCgroupFiles, ownerUid } = options;
  await using cleanup = new Cleanup();
  const make = async (parent: string) => {
    const directory = join(parent, name);
    await files.mkdir(directory);
    cleanup.defer(() => removeCgroup(directory, files));
    return directory;
  };

  if (support.kind === "v2") {
    const directory = await make(support.dir);
    await limitUnified(directory, limits, support.controllers, files);
    // moving between groups needs write access to their common ancestor, which another uid has only in a delegated group
    const movesItself = ownerUid === support.delegatedTo;
    if (movesItself && ownerUid !== undefined) await files.chown(join(directory, "cgroup.procs"), ownerUid);
    const placement: CgroupPlacement[] = movesItself
      ? [{ controller: "unified", path: directory, file: "cgroup.procs" }]
      : [];
    return new UnifiedCgroup(directory, placement, files, cleanup.move());
  }

  const directories = new Map<string, string>();
  for (const [controller, parent] of Object.entries(support.dirs)) directories.set(controller, await make(parent));
  await limitSeparate(directories, limits, support.limitsSockets, files);
  const placement: CgroupPlacement[] = [];
  for (const [controller, path] of directories) {
    if (ownerUid !== undefined) await files.chown(join(path, "tasks"), ownerUid);
    placement.push({ controller, path, file: "tasks" });
  }
  return new SeparateCgroup(directories, placement, files, cleanup.move());
}

async function limitUnified(
  directory: string,
  limits: CgroupLimits,
  controllers: ReadonlySet<string>,
  files: CgroupFiles,
): Promise<void> {
  const set = (file: string, value: string | number) => files.write(join(directory, file), String(value));
  if (controllers.has("memory")) {
    await set("memory.max", limits.memoryBytes);
    // a Linux kernel without swap accounting does not have this file
    await set("memory.swap.max", 0).catch(ignoreAbsent);
    // the OOM killer kills only the worker, not the supervisor
    await set("memory.oom.group", 0).catch(ignoreAbsent);
  }
  if (controllers.has("pids")) await set("pids.max", limits.pids);
  if (controllers.has("cpu")) await set("cpu.max", `${quotaUs(limits)} ${periodUs}`);
}

async function limitSeparate(
  directories: ReadonlyMap<string, string>,
  limits: CgroupLimits,
  limitsSockets: boolean,
  files: CgroupFiles,
): Promise<void> {
  const set = async (controller: string, file: string, value: number) => {
    const directory = directories.get(controller);
    if (directory !== undefined) await files.write(join(directory, file), String(value));
  };
  // in this order, because the Linux kernel rejects a memory limit above memory + swap
  await set("memory", "memory.limit_in_bytes", limits.memoryBytes);
  await set("memory", "memory.memsw.limit_in_bytes", limits.memoryBytes).catch(ignoreAbsent);
  await set("memory", "memory.swappiness", 0).catch(ignoreAbsent);
  // before a process is in the group: sockets that exist already are not counted
  if (limitsSockets) await set("memory", socketLimitFile, limits.socketBytes);
  await set("pids", "pids.max", limits.pids);
  await set("cpu", "cpu.cfs_period_us", periodUs);
  await set("cpu", "cpu.cfs_quota_us", quotaUs(limits));
}

class UnifiedCgroup implements CellCgroup {
  readonly placement: readonly CgroupPlacement[];
  readonly #directory: string;
  readonly #files: CgroupFiles;
  readonly #counters: Counters;
  readonly #counterPaths: ReadonlyMap<string, string>;
  readonly #cleanup: Cleanup;

  constructor(directory: string, placement: readonly CgroupPlacement[], files: CgroupFiles, cleanup: Cleanup) {
    this.#directory = directory;
    this.placement = placement;
    this.#files = files;
    this.#counters = new Counters(files);
    this.#counterPaths = new Map(unifiedFiles.map((file) => [file, join(directory, file)]));
    this.#cleanup = cleanup;
  }

  async place(pid: number): Promise<void> {
    await this.#files.write(join(this.#directory, "cgroup.procs"), String(pid));
  }

  async usage(): Promise<CellUsage> {
    return unifiedUsage((file) => this.#counters.read(this.#counterPaths.get(file) ?? ""));
  }

  async giveWay(givesWay: boolean): Promise<void> {
    const { low, usual } = shares.v2;
    await this.#files.write(join(this.#directory, "cpu.weight"), String(givesWay ? low : usual));
  }

  async kill(): Promise<void> {
    try {
      await this.#files.write(join(this.#directory, "cgroup.kill"), "1");
    } catch {
      await killMembers([this.#directory], this.#files); // Linux kernels before 5.14 do not have cgroup.kill
    }
  }

  async killAllBut(pid: number): Promise<void> {
    await killPresent([this.#directory], this.#files, pid);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#counters[Symbol.dispose]();
    await this.kill();
    await this.#cleanup[Symbol.asyncDispose]();
  }
}

class SeparateCgroup implements CellCgroup {
  readonly placement: readonly CgroupPlacement[];
  readonly #directories: ReadonlyMap<string, string>;
  readonly #files: CgroupFiles;
  readonly #counters: Counters;
  readonly #counterPaths: ReadonlyMap<string, string>;
  readonly #cleanup: Cleanup;

  constructor(
    directories: ReadonlyMap<string, string>,
    placement: readonly CgroupPlacement[],
    files: CgroupFiles,
    cleanup: Cleanup,
  ) {
    this.#directories = directories;
    this.placement = placement;
    this.#files = files;
    this.#counters = new Counters(files);
    this.#counterPaths = new Map(
      separateFiles.flatMap(([controller, file]) => {
        // the two controllers are usually mounted together, under either name
        const directory =
          directories.get(controller) ?? (controller === "cpuacct" ? directories.get("cpu") : undefined);
        return directory === undefined ? [] : [[file, join(directory, file)]];
      }),
    );
    this.#cleanup = cleanup;
  }

  async place(pid: number): Promise<void> {
    await Promise.all(
      [...this.#directories.values()].map((path) => this.#files.write(join(path, "cgroup.procs"), String(pid))),
    );
  }

  async usage(): Promise<CellUsage> {
    return separateUsage((_controller, file) => {
      const path = this.#counterPaths.get(file);
      return path === undefined ? "" : this.#counters.read(path);
    });
  }

  async giveWay(givesWay: boolean): Promise<void> {
    const { low, usual } = shares.v1;
    const directory = this.#directories.get("cpu");
    if (directory === undefined) return;
    await this.#files.write(join(directory, "cpu.shares"), String(givesWay ? low : usual));
  }

  kill(): Promise<void> {
    return killMembers([...this.#directories.values()], this.#files);
  }

  async killAllBut(pid: number): Promise<void> {
    await killPresent([...this.#directories.values()].slice(0, 1), this.#files, pid); // all groups have the same members
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#counters[Symbol.dispose]();
    await this.kill();
    await this.#cleanup[Symbol.asyncDispose]();
  }
}

function quotaUs(limits: CgroupLimits): number {
  return Math.max(1000, Math.round(limits.cpus * periodUs)); // the Linux kernel rejects less than a millisecond
}

/** Ignores a limit that this Linux kernel does not have. A limit that exists but cannot be set is a failure. */
function ignoreAbsent(error: unknown): void {
  const code = errorCode(error);
  if (code !== "ENOENT" && code !== "EOPNOTSUPP") throw error;
}
