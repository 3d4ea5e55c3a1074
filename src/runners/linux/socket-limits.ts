const mebibyte = 1024 * 1024;

/** Limits on the buffers of TCP and UDP sockets, which a memory cgroup counts separately (v1) or not before they are accepted. */
export interface SocketLimits {
  /** what the Linux kernel's own limit allows, if it has one (v1) */
  readonly limitBytes: number;
  /** from here on, the supervisor ends the run: more than the Linux kernel's limit, which it exceeds by a page or two per socket */
  readonly watchBytes: number;
}

/** Pure: in proportion to `proc.memory`, and never so little that ordinary connections become slow. */
export function socketLimits(memoryBytes: number): SocketLimits {
  return {
    limitBytes: Math.max(16 * mebibyte, Math.floor(memoryBytes / 4)),
    watchBytes: Math.max(32 * mebibyte, Math.floor(memoryBytes / 2)),
  };
}
