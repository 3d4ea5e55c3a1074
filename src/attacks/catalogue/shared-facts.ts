/** Reasons and defences that many attacks share, so that the same thing has one wording. */
export const noSystemCalls = { wasm: "WebAssembly has no system calls" } as const;
export const noSockets = { wasm: "the interpreter has no sockets" } as const;
export const noProcesses = { wasm: "there are no processes" } as const;
export const ownFiles = "the interpreter's own files, in its memory";

/** Who keeps host files out of a cell. */
export const byMounts = {
  default: "mount namespace: the host's files are not in it",
  wasm: "files are in the interpreter's memory",
  gvisor: "gVisor's own kernel; its file broker serves the cell's mounts only",
} as const;

/** Who keeps a cell from the network. */
export const byNoLink = {
  default: "network namespace without a link",
  wasm: "the interpreter has no sockets",
  gvisor: "gVisor's own network stack has no link",
} as const;

/** Who refuses dangerous system calls. */
export const byFilter = {
  default: "system call filter",
  gvisor: "system call filter, and gVisor's own kernel behind it",
} as const;

/** Who keeps processes apart. */
export const byPids = { default: "pid namespace", wasm: "there are no processes" } as const;
