import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { withStreams } from "../../lib/with-streams.ts";
import type { Policy } from "../../policy/schema.ts";
import { isDiskExact } from "../disk-rule.ts";
import { kernelBootstrap } from "../kernel-bootstrap.ts";
import { collectText } from "../linux/collect-text.ts";
import type { CellMount } from "../linux/mounts/mounts.ts";
import type { PythonInstallation } from "../linux/python/python.ts";
import { closingFilter, seccompFilter } from "../linux/seccomp/seccomp.ts";
import type { FilterArch } from "../linux/seccomp/syscalls.ts";
import type { CellExit } from "../runner.ts";
import { directArguments, filterDescriptor, type JailMount } from "./bubblewrap.ts";
import { cellConfig } from "./cell-config.ts";
import type { CellCgroup } from "./cgroup/cell-cgroup.ts";
import { cgroupHolds } from "./cgroup/cgroup.ts";
import type { Host } from "./host.ts";
import { type Expected, ListenerRegistry, newTicket } from "./listener-registry.ts";
import { waitForHost } from "./wait-for-host.ts";

const bootstrap = kernelBootstrap("direct");
/** The shell enters the cell's cgroups before it starts bubblewrap. Paths are arguments, so they cannot inject shell code. */
const enterGroups = 'while [ "$1" != -- ]; do echo 0 > "$1" || exit 71; shift; done; shift; exec "$@"';

export interface DirectParts {
  readonly host: Host;
  readonly python: PythonInstallation;
  readonly kernelDirectory: string;
  readonly policy: Policy;
  readonly mounts: readonly CellMount[];
  readonly uid: number | undefined;
  readonly arch: FilterArch;
  readonly cgroup: CellCgroup | undefined;
  /** the session's own directory */
  readonly workspace: string | undefined;
  /** the workspace holds far more than the cell may write */
  readonly isReadOnly: boolean;
  /** the cell passes its proxy socket to the host */
  readonly handsOver: boolean;
}

export interface DirectJail {
  /** of bubblewrap, which exits when the cell's last process has; undefined if it could not start */
  readonly pid: number | undefined;
  readonly channel: Socket;
  readonly exited: Promise<CellExit>;
  readonly kill: () => void;
  /** the socket that it passes to the host, if it does */
  readonly expected: Expected | undefined;
}

/** Starts one bubblewrap for one cell, for hosts that forbid nested user namespaces. */
export function startDirect(parts: DirectParts): DirectJail {
  const { host, uid, cgroup } = parts;
  const groups = (cgroup?.placement ?? []).map(({ path, file }) => `${path}/${file}`);
  const ticket = parts.handsOver ? newTicket() : undefined;
  const jail = [host.bubblewrap, ...directArguments(directPaths(parts, ticket))];
  const isMoved = cgroup !== undefined && groups.length === 0;
  const enter = groups.length > 0 ? ["/bin/sh", "-c", enterGroups, "sh", ...groups, "--"] : isMoved ? waitForHost : [];
  const command = [...enter, ...jail];
  const spawned: ChildProcess = spawn(command[0] as string, command.slice(1), {
    env: {}, // code could read bubblewrap's environment in /proc/1/environ
    cwd: "/",
    // 3: filter. 4: channel; Node makes pipes above 2 two-way socket pairs. 5, if the cell has a network: an IPC channel,
    // the only kind on which Node accepts descriptors.
    stdio: [
      isMoved ? "pipe" : "ignore",
      "ignore",
      "pipe",
      "pipe",
      "pipe",
      ...(ticket === undefined ? [] : (["ipc"] as const)),
    ],
    detached: true, // Ctrl-C in the terminal must not kill the cell; codecell handles it
    ...(uid === undefined ? {} : { uid, gid: uid }),
  });
  const child = withStreams(spawned);
  const diagnostics = collectText(child.stderr);
  const filterPipe = child.stdio[filterDescriptor] as Socket;
  filterPipe.on("error", () => {}); // its exit has the reason
  filterPipe.end(setupFilter(parts));
  if (isMoved && child.pid !== undefined) {
    child.stdin?.on("error", () => {}); // its exit has the reason
    // without its group it does not start: the end of its input makes it exit
    void cgroup.place(child.pid).then(
      () => child.stdin?.end("\n"),
      () => child.stdin?.destroy(),
    );
  }
  const exited = once(child, "exit").then(
    ([code, signal]): CellExit => ({ code, signal, diagnostics: diagnostics() }),
    (error: Error): CellExit => ({ code: null, signal: null, diagnostics: error.message }),
  );
  const expected = ticket === undefined ? undefined : new ListenerRegistry(child).expect(ticket);
  void expected?.arrived.then(() => child.connected && child.disconnect()); // accept one socket only
  return { pid: child.pid, channel: child.stdio[4] as Socket, exited, expected, kill: () => child.kill("SIGKILL") };
}

/** In place before the cell pins itself to its cores and opens its list of sockets. Then it adds a filter that refuses both. */
function setupFilter({ host, arch, policy }: DirectParts): Buffer {
  const allowMemfd = cgroupHolds(host.facts.cgroups, "memory");
  const options = { allowMemfd, fixesBuffers: !allowMemfd, allowAffinity: true, mayListSockets: true };
  return seccompFilter({ arch, phase: "cell", ...options, allowFallocate: isDiskExact(policy) });
}

function directPaths(parts: DirectParts, ticket: string | undefined) {
  const { host, python, policy } = parts;
  const config = cellConfig(policy, host.facts, host.masks, parts.mounts);
  const { maskFiles: _, maskDirs: __, mounts: ___, ...limits } = config;
  const allowAffinity = cgroupHolds(host.facts.cgroups, "cpu");
  const filter = closingFilter(parts.arch, { allowAffinity }).toString("hex");
  const handover = ticket === undefined ? {} : { ticket };
  const identities = parts.mounts.map(({ target, identity }) => ({ target, identity }));
  const workspace = parts.mounts.find((mount) => mount.target === "/workspace");
  const start = [python.executableInside, "-I", "-S", "-B", "-c", bootstrap];
  const workspaceSource = workspace?.source ?? parts.workspace;
  return {
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
    command: [...start, JSON.stringify({ ...limits, filter, identities, ...handover })],
    workspace: workspaceSource
      ? { kind: "host" as const, source: workspaceSource, mode: parts.isReadOnly ? ("ro" as const) : ("rw" as const) }
      : { kind: "private" as const, sizeBytes: policy.proc.diskBytes },
    mounts: parts.mounts
      .filter((mount) => mount !== workspace)
      .map(({ source, target, readOnly, kind }): JailMount => ({ source, target, kind, mode: readOnly ? "ro" : "rw" }))
      .concat(parts.mounts.flatMap(pinned)),
    denied: parts.mounts.flatMap((mount) =>
      mount.deny.map(({ path, kind }) => ({ path: `${mount.target}/${path}`, kind })),
    ),
    masks: host.masks,
    tmpBytes: config.tmpBytes,
    sharedMemoryBytes: config.shmBytes,
  };
}

/** Mounts a directory on itself, which stops the cell from renaming it. */
function pinned({ source, target, pins }: CellMount): JailMount[] {
  return pins.map((pin) => ({ source: `${source}/${pin}`, target: `${target}/${pin}`, kind: "directory", mode: "rw" }));
}
