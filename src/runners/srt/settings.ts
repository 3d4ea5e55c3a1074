/** A path that srt never reads as a pattern. */
export interface SrtPath {
  readonly path: string;
  readonly literal: true;
}

/** The settings of one cell, passed with each call. They are not part of srt's process-wide configuration. */
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

/** Real host paths. srt cannot map paths, so a cell sees the same paths. */
export interface CellPaths {
  /** programs, libraries, the interpreter and the kernel's own files */
  readonly programs: readonly string[];
  readonly workspace: string;
  /** the workspace holds far more than the cell may write */
  readonly isReadOnly?: boolean;
  readonly mounts: readonly { readonly path: string; readonly readOnly: boolean }[];
  /** entries in the workspace and mounts that match the policy's deny globs */
  readonly denied: readonly string[];
}

/** srt makes these writable for every command, even if `denyRead` lists them. Only a denied credential overrides that. */
const alwaysOpen = ["/tmp/claude", "/private/tmp/claude"];

/** Pure: srt's rules for the paths of a cell. Everything that is not listed can be neither read nor written. */
export function srtSettings({ programs, workspace, isReadOnly = false, mounts, denied }: CellPaths): SrtSettings {
  const writable = mounts.filter((mount) => !mount.readOnly).map((mount) => mount.path);
  return {
    // An empty list closes the network. Without the key, srt would share the host's network.
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: {
      // "/" does not include /sys, which reveals the host's devices and cgroups
      denyRead: ["/", "/sys", ...denied].map(exactly),
      allowRead: [...programs, ...(isReadOnly ? [workspace] : []), ...mounts.map((mount) => mount.path)].map(exactly),
      allowWrite: [...(isReadOnly ? [] : [workspace]), ...writable].map(exactly),
      denyWrite: denied.map(exactly),
    },
    credentials: { files: alwaysOpen.map((path) => ({ path, mode: "deny" })), envVars: [] },
  };
}

function exactly(path: string): SrtPath {
  return { path, literal: true };
}
