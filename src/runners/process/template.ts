import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import type { Duplex } from "node:stream";
import { encodeFrameHead } from "../../kernel/frames.ts";
import { preloadFailure } from "../../kernel/preload-failure.ts";
import { Cleanup } from "../../lib/cleanup.ts";
import { CodecellError, messageOf } from "../../lib/errors.ts";
import { isOutOfDescriptors } from "../../lib/files/no-descriptors.ts";
import { deadline } from "../../lib/waiting/deadline.ts";
import { withStreams } from "../../lib/with-streams.ts";
import type { Policy } from "../../policy/schema.ts";
import { packagesTarget } from "../cell-packages.ts";
import { isDiskExact } from "../disk-rule.ts";
import { kernelBootstrap } from "../kernel-bootstrap.ts";
import { collectText } from "../linux/collect-text.ts";
import { preloadEnvironment } from "../linux/kernel-setup.ts";
import type { CellMount } from "../linux/mounts/mounts.ts";
import { missingModuleHint } from "../linux/python/missing-module.ts";
import type { PythonInstallation } from "../linux/python/python.ts";
import { killNotifyFilter, seccompFilter } from "../linux/seccomp/seccomp.ts";
import type { FilterArch } from "../linux/seccomp/syscalls.ts";
import type { UidLease } from "../linux/users/uid-lease.ts";
import { filterDescriptor, type JailMount, templateArguments } from "./bubblewrap.ts";
import { cellConfig, cellMounts } from "./cell-config.ts";
import type { CellCgroup } from "./cgroup/cell-cgroup.ts";
import { type CgroupSupport, cgroupHolds } from "./cgroup/cgroup.ts";
import { type DelegatedGroup, delegateGroup } from "./cgroup/delegated-group.ts";
import { type Host, makeDirectoryFor } from "./host.ts";
import { ListenerRegistry } from "./listener-registry.ts";
import { mappingStdio, mapUsers, userMap } from "./user-map.ts";
import { waitForHost } from "./wait-for-host.ts";

const startMs = 60_000;
const bootstrap = kernelBootstrap("template");

export interface TemplateParts {
  readonly host: Host;
  readonly python: PythonInstallation;
  readonly kernelDirectory: string;
  readonly policy: Policy;
  readonly mounts: readonly CellMount[];
  readonly uid: number | undefined;
  /** cells get their own uids from this lease */
  readonly lease: UidLease | undefined;
  readonly arch: FilterArch;
  /** unique among the templates of one host process */
  readonly name: string;
  /** directory with the sessions' own workspaces, if they have any */
  readonly workspacesRoot: string | undefined;
  /** cells pass their proxy sockets to the host */
  readonly handsOver: boolean;
  /** sessions have file systems of their own, which the host passes */
  readonly takesMounts: boolean;
}

/** What one cell of a template has for itself. */
export interface ForkParts {
  /** the cell's own uid, if the template has a lease */
  readonly uid: number | undefined;
  readonly cgroup: CellCgroup | undefined;
  /** name of the session's own directory */
  readonly workspace: string | undefined;
  /** the ticket of the session's own file system, which the host has passed to the template; then there is no directory */
  readonly disk: string | undefined;
  /** that directory holds far more than the cell may write */
  readonly isReadOnly: boolean;
  readonly mounts: readonly CellMount[];
  readonly ticket: string | undefined;
}

/** A warm process per policy that forks a cell for each connection. */
export class Template implements AsyncDisposable {
  readonly uid: number | undefined;
  /** each cell gets its own uid */
  readonly givesUids: boolean;
  /** where the cells' cgroups are created, if not where the host's others are */
  readonly cgroups: CgroupSupport | undefined;
  /** receives the cells' sockets, if they pass them */
  readonly listeners: ListenerRegistry | undefined;
  readonly #socketPath: string;
  readonly #cleanup: Cleanup;
  /** callbacks that wait for a cell to exit */
  readonly #waiting = new Set<() => void>();
  #isAlive = true;
  #isRetired = false;
  /** number of cells that are running or starting */
  #cells = 0;

  private constructor(
    parts: TemplateParts,
    socketPath: string,
    child: ChildProcess,
    cgroups: CgroupSupport | undefined,
    cleanup: Cleanup,
  ) {
    this.uid = parts.uid;
    this.givesUids = parts.lease !== undefined;
    this.cgroups = cgroups;
    this.listeners = parts.handsOver ? new ListenerRegistry(child) : undefined;
    this.#socketPath = socketPath;
    this.#cleanup = cleanup;
    child.once("exit", () => {
      this.#isAlive = false;
      for (const gone of this.#waiting) gone();
    });
  }

  /** Where the host passes file systems of sessions. */
  get mountsSocket(): string {
    return join(dirname(this.#socketPath), "mounts");
  }

  /** It no longer answers: the next cell gets another template. */
  isGone(): void {
    this.#isAlive = false;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  static async start(parts: TemplateParts, signal?: AbortSignal): Promise<Template> {
    await using cleanup = new Cleanup();
    const { lease, uid } = parts;
    if (lease && uid !== undefined) cleanup.defer(() => lease.giveBack(uid));
    const directory = join(parts.host.ownDir, parts.name);
    await makeDirectoryFor(parts.uid, directory);
    cleanup.defer(() => rm(directory, { recursive: true, force: true }));
    const group = await ownGroup(parts);
    cleanup.defer(() => group?.[Symbol.asyncDispose]());
    const child = withStreams(spawnTemplate(parts, directory, group));
    const exit = once(child, "exit");
    cleanup.defer(async () => {
      child.kill("SIGKILL");
      await exit.catch(() => {});
    });
    if (group && child.pid !== undefined) await group.place(child.pid);
    configure(child, parts, group !== undefined);
    const diagnostics = collectText(child.stderr);
    using limit = deadline(startMs, signal);
    const up = once(child.stdout as NodeJS.ReadableStream & NodeJS.EventEmitter, "data", { signal: limit.signal });
    const gone = exit.then(() => {
      const missing = preloadFailure(diagnostics(), missingModuleHint(parts.python));
      throw missing ?? templateFailure(diagnostics().trim());
    });
    gone.catch(() => {});
    const map = lease && uid !== undefined ? userMap(uid, lease.nobody, lease.cells) : undefined;
    const mapped = map === undefined ? up : Promise.all([mapUsers(child, map), up]);
    await Promise.race([mapped, gone]).catch((error: unknown) => {
      if (error instanceof CodecellError) throw error;
      throw new CodecellError(
        "cell_start_failed",
        `the template process did not start: ${messageOf(error)} ${diagnostics()}`,
      );
    });
    return new Template(parts, join(directory, "cells"), child, group?.support, cleanup.move());
  }

  /** Forks a cell. The connection closes when the cell exits, and closing it ends the cell. */
  async connect({ uid, cgroup, workspace, disk, isReadOnly, mounts, ticket }: ForkParts): Promise<Socket> {
    const socket = connect({ path: this.#socketPath, allowHalfOpen: true });
    this.#cells++;
    socket.once("close", () => {
      this.#cells--;
      this.#endWhenIdle();
    });
    await once(socket, "connect").catch((error: unknown) => {
      // The template is fine: replacing it would end the cells that it has.
      if (isOutOfDescriptors(error)) throw error;
      this.isGone(); // it has exited, and this is the first sign
      throw new CodecellError("cell_start_failed", "the template process does not accept connections", {
        cause: error,
        details: { isTemplateGone: true },
      });
    });
    const cgroups = (cgroup?.placement ?? []).map(({ controller, path, file }) => {
      const name = path.slice(path.lastIndexOf("/") + 1);
      return `${controller}/${name}/${file}`;
    });
    const own = disk !== undefined ? { disk } : workspace === undefined ? {} : { workspace, isReadOnly };
    // Denied paths are searched for each cell, because a secret may have been added since the template started.
    socket.write(
      encodeFrameHead({
        ...{ t: "cell", cgroups, mounts: cellMounts(mounts), ...own },
        ...(this.givesUids && uid !== undefined ? { uid } : {}),
        ...(ticket ? { ticket } : {}),
      }),
    );
    return socket;
  }

  /**
   * Settles when the cell or its template has exited. It does not race with a promise for the template's exit: that promise
   * outlives the cell, so every race would leak memory.
   */
  cellGone(channel: Duplex): Promise<void> {
    return new Promise((resolve) => {
      const gone = () => {
        this.#waiting.delete(gone);
        resolve();
      };
      this.#waiting.add(gone);
      void channelClosed(channel).then(gone);
    });
  }

  /** Called when another template replaces this one, which then exits with its last cell. */
  retire(): void {
    this.#isRetired = true;
    this.#endWhenIdle();
  }

  #endWhenIdle(): void {
    if (this.#isRetired && this.#cells === 0) void this[Symbol.asyncDispose]().catch(() => {});
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup[Symbol.asyncDispose]();
  }
}

/**
 * Pure: what the template imports for its cells. With packages, nothing: a cell imports them itself, behind its own walls. The
 * attack: a wheel with an `msvcrt.py`, which the standard library tries to import on every system, runs in the process that
 * makes the walls of all sessions.
 */
export function templateImports(
  { path, mounts }: Pick<PythonInstallation, "path" | "mounts">,
  { kernel }: Policy,
): { readonly path: readonly string[]; readonly preload: readonly string[] } {
  const hasPackages = mounts.some(({ target }) => target === packagesTarget);
  return hasPackages ? { path: [], preload: [] } : { path, preload: kernel.preload };
}

/** Pure: why a template exited, from the last line of what it printed; the rest is in the details. */
export function templateFailure(diagnostics: string): CodecellError {
  const last = diagnostics.split("\n").at(-1)?.slice(0, 300) || "no reason given";
  const details = { diagnostics: diagnostics.slice(-4_000) };
  const module = /^(?:ModuleNotFound|Import)Error: (.*)/.exec(last)?.[1];
  if (module !== undefined) {
    const hint = "install it for the Python that cells use (kernel.python), or remove it from kernel.preload";
    return new CodecellError("cell_start_failed", `kernel.preload failed: ${module}`, { hint, details });
  }
  if (/No space left on device|Errno 28|ENOSPC/.test(diagnostics)) {
    const hint = "free some space on the disk of codecell's runtime directory and of /tmp, then try again";
    return new CodecellError("cell_start_failed", `the template process exited: ${last}`, { hint, details });
  }
  const hint = "check kernel.preload and kernel.python; run `codecell doctor`";
  return new CodecellError("cell_start_failed", `the template process exited: ${last}`, { hint, details });
}

/** In v2, cells with another uid than codecell's can move into their groups only from a group that this uid may use. */
async function ownGroup({ host, name, uid }: TemplateParts): Promise<DelegatedGroup | undefined> {
  const { cgroups } = host.facts;
  return cgroups.kind === "v2" && uid !== undefined
    ? await delegateGroup(cgroups, `${host.tag}-${name}`, uid)
    : undefined;
}

function spawnTemplate(parts: TemplateParts, directory: string, group: DelegatedGroup | undefined): ChildProcess {
  const { host, python, uid, policy } = parts;
  const mounts: JailMount[] = parts.mounts.map(({ source, target, readOnly, kind }) => {
    return { source, target, kind, mode: readOnly ? "ro" : "rw" };
  });
  if (parts.workspacesRoot) {
    mounts.push({ source: parts.workspacesRoot, target: "/run/workspaces", kind: "directory", mode: "rw" });
  }
  const args = templateArguments({
    tag: host.tag,
    hostRoot: host.root,
    certificates: policy.net.enabled ? host.root.certificates : undefined,
    python,
    identityDirectory: host.identityDirectory,
    kernelDirectory: parts.kernelDirectory,
    emptyFile: host.emptyFile,
    emptyDirectory: host.emptyDirectory,
    closedFile: host.closedFile,
    closedDirectory: host.closedDirectory,
    command: [python.executableInside, "-I", "-S", "-B", "-c", bootstrap],
    socketDirectory: directory,
    mounts,
    mapsUsers: parts.lease !== undefined,
    cgroups: cgroupDirectories(group?.support ?? host.facts.cgroups),
  });
  const jail = [host.bubblewrap, ...args];
  const [program = "", ...rest] = group === undefined ? jail : [...waitForHost, ...jail];
  return spawn(program, rest, {
    env: {}, // code could read bubblewrap's environment in /proc/1/environ
    cwd: "/",
    // 4, if cells have a network: an IPC channel, the only kind on which Node accepts descriptors
    // 5 and 6, if cells get their own uids
    stdio: [
      ...(["pipe", "pipe", "pipe", "pipe", parts.handsOver ? "ipc" : "ignore"] as const),
      ...(parts.lease ? mappingStdio : []),
    ],
    detached: true, // Ctrl-C in the terminal must not kill every cell; codecell handles it
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
}

/** Sends the filters and the configuration, after a line if the process waits until it is in its cgroup. */
function configure(child: ChildProcess, { host, python, policy, arch, ...parts }: TemplateParts, waits: boolean): void {
  const { facts } = host;
  const hasMemoryGroup = cgroupHolds(facts.cgroups, "memory");
  const limits = {
    ...{ allowMemfd: hasMemoryGroup, fixesBuffers: !hasMemoryGroup },
    allowAffinity: cgroupHolds(facts.cgroups, "cpu"),
    allowFallocate: isDiskExact(policy),
  };
  const cellFilter = seccompFilter({ arch, phase: "cell", ...limits });
  const filters = Buffer.concat([cellFilter, killNotifyFilter(arch)]);
  const filterPipe = child.stdio[filterDescriptor] as Socket;
  for (const stream of [filterPipe, child.stdin]) stream?.on("error", () => {}); // its exit has the reason
  filterPipe.end(seccompFilter({ arch, phase: "template", ...limits }));
  const config = {
    t: "template",
    ...templateImports(python, policy),
    env: preloadEnvironment(policy),
    handsOver: parts.handsOver,
    takesMounts: parts.takesMounts,
    cellFilterBytes: cellFilter.length,
    cell: cellConfig(policy, facts, host.masks, parts.mounts),
    // staged after the policy's mounts; each cell mounts only its own directory and cannot see the others
    workspacesStage: parts.workspacesRoot ? String(parts.mounts.length) : null,
  };
  if (waits) child.stdin?.write("\n");
  child.stdin?.write(encodeFrameHead(config, filters.length));
  child.stdin?.write(filters);
}

function cgroupDirectories(cgroups: CgroupSupport): { controller: string; directory: string }[] {
  if (cgroups.kind === "v1") {
    return Object.entries(cgroups.dirs).map(([controller, directory]) => ({ controller, directory }));
  }
  return cgroups.kind === "v2" ? [{ controller: "unified", directory: cgroups.dir }] : [];
}

/** Settles when the other side closes the channel, which the template does after the cell has exited. */
async function channelClosed(channel: Duplex): Promise<void> {
  if (channel.closed || channel.readableEnded) return;
  await Promise.race([once(channel, "end"), once(channel, "close")]).catch(() => {});
}
