/** A path that srt never reads as a pattern. */
export interface SrtPath {
  readonly path: string;
  readonly literal: true;
}

/** What one cell asks of srt. Given with each call: nothing of it is in srt's own, process-wide configuration. */
export interface SrtSettings {
  readonly network: { readonly allowedDomains: readonly string[]; readonly deniedDomains: readonly string[] };
  readonly filesystem: {
    readonly denyRead: readonly SrtPath[];
    readonly allowRead: readonly SrtPath[];
    readonly allowWrite: readonly SrtPath[];
    readonly denyWrite: readonly SrtPath[];
  };
  readonly credentials: {
    readonly files: readonly { readonly path: string; readonly mode: "deny" }[];
    readonly envVars: readonly never[];
  };
}

/** Real paths of the host. srt maps none of them: a cell sees each at the place it has on the host. */
export interface CellPaths {
  /** programs, libraries, the interpreter and the kernel's own files */
  readonly programs: readonly string[];
  readonly workspace: string;
  readonly mounts: readonly { readonly path: string; readonly readOnly: boolean }[];
  /** entries below workspace and mounts that the policy's deny globs match */
  readonly denied: readonly string[];
}

/** srt opens these to every command, writable and over any `denyRead`: only a denied credential outranks that. */
const alwaysOpen = ["/tmp/claude", "/private/tmp/claude"];

/** Pure: the paths of a cell in, the rules for srt out. Nothing is readable or writable unless it is named. */
export function srtSettings({ programs, workspace, mounts, denied }: CellPaths): SrtSettings {
  const writable = mounts.filter((mount) => !mount.readOnly).map((mount) => mount.path);
  return {
    // An empty list closes the network. The key has to be there: without it srt shares the host's.
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: {
      // "/" leaves /sys open, which tells about the host's devices and control groups
      denyRead: ["/", "/sys", ...denied].map(exactly),
      allowRead: [...programs, ...mounts.map((mount) => mount.path)].map(exactly),
      allowWrite: [workspace, ...writable].map(exactly),
      denyWrite: denied.map(exactly),
    },
    credentials: { files: alwaysOpen.map((path) => ({ path, mode: "deny" })), envVars: [] },
  };
}

function exactly(path: string): SrtPath {
  return { path, literal: true };
}
