import type { CellUsage } from "../cell-usage.ts";

// made once: usage is read after every run
const cpuTime = /^usage_usec (\d+)$/m;
const kills = /^oom_kill (\d+)$/m;

/** Files with the usage of a cgroup v2 group. */
export const unifiedFiles = ["cpu.stat", "memory.current", "memory.peak", "memory.events", "pids.current"] as const;

/** Pure: the usage of a cgroup v2 group. `read` returns "" for a missing file. */
export function unifiedUsage(read: (file: (typeof unifiedFiles)[number]) => string): CellUsage {
  const cpuUs = firstNumber(cpuTime, read("cpu.stat"));
  return {
    memoryBytes: wholeNumber(read("memory.current")),
    peakMemoryBytes: wholeNumber(read("memory.peak")),
    cpuMs: cpuUs === undefined ? undefined : cpuUs / 1000,
    processes: wholeNumber(read("pids.current")),
    oomKills: firstNumber(kills, read("memory.events")) ?? 0,
  };
}

/** Controllers and files with the usage of cgroup v1 groups. */
export const separateFiles = [
  ["cpuacct", "cpuacct.usage"],
  ["memory", "memory.usage_in_bytes"],
  ["memory", "memory.max_usage_in_bytes"],
  ["memory", "memory.oom_control"],
  ["pids", "pids.current"],
] as const;

/** Pure: the usage of cgroup v1 groups, one per controller. */
export function separateUsage(read: (controller: string, file: string) => string): CellUsage {
  const cpuNs = wholeNumber(read("cpuacct", "cpuacct.usage"));
  return {
    memoryBytes: wholeNumber(read("memory", "memory.usage_in_bytes")),
    peakMemoryBytes: wholeNumber(read("memory", "memory.max_usage_in_bytes")),
    cpuMs: cpuNs === undefined ? undefined : cpuNs / 1e6,
    processes: wholeNumber(read("pids", "pids.current")),
    oomKills: firstNumber(kills, read("memory", "memory.oom_control")) ?? 0,
  };
}

function wholeNumber(text: string): number | undefined {
  return /^\d+\s*$/.test(text) ? Number(text) : undefined;
}

function firstNumber(pattern: RegExp, text: string): number | undefined {
  const match = pattern.exec(text);
  return match?.[1] === undefined ? undefined : Number(match[1]);
}
