import { formatSize } from "../../policy/format-units.ts";

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
    limitBytes: Math.max(16 * mebibyte, wholeMebibytes(memoryBytes / 4)),
    watchBytes: Math.max(32 * mebibyte, wholeMebibytes(memoryBytes / 2)),
  };
}

function wholeMebibytes(bytes: number): number {
  return Math.floor(bytes / mebibyte) * mebibyte;
}

/** How a memory limit counts these buffers: v2 together with other memory, v1 separately or, on some Linux kernels, not at all. */
export type SocketCount = "together" | "separately" | "nowhere";

/** Pure: the part of a receipt's row about them. */
export function socketRow(memoryBytes: number, counted: SocketCount): string {
  const { limitBytes, watchBytes } = socketLimits(memoryBytes);
  const watched = `the supervisor ends a run that has more than ${formatSize(watchBytes)} in them`;
  if (counted === "separately") {
    return `buffers of TCP and UDP sockets have a limit of their own, ${formatSize(limitBytes)}, and ${watched}`;
  }
  if (counted === "together") return `buffers of connections count once they are accepted, and ${watched}`;
  return `buffers of TCP and UDP sockets are not counted, but ${watched}`;
}

/** The row of a cell without a memory cgroup. */
export const watchedMemory =
  "sum of resident memory and socket buffers every 20 ms, RLIMIT_DATA for each process; " +
  "pipes and other objects of the OS are not counted";
