import { readFile } from "node:fs/promises";

export interface TreeUsage {
  readonly memoryBytes: number;
  readonly peakMemoryBytes: number;
  readonly cpuMs: number;
}

const clockTicksPerSecond = 100;

/** The usage of a process and its children, from the OS. Undefined without /proc, or if the process has exited. */
export async function treeUsage(pid: number): Promise<TreeUsage | undefined> {
  try {
    const [status, stat, children] = await Promise.all([
      readFile(`/proc/${pid}/status`, "utf8"),
      readFile(`/proc/${pid}/stat`, "utf8"),
      readFile(`/proc/${pid}/task/${pid}/children`, "utf8").catch(() => ""),
    ]);
    const own = {
      memoryBytes: kibibytes(status, "VmRSS") * 1024,
      peakMemoryBytes: kibibytes(status, "VmHWM") * 1024,
      cpuMs: cpuTicks(stat) * (1000 / clockTicksPerSecond),
    };
    const pids = children.trim().split(/\s+/).filter(Boolean).map(Number);
    const below = await Promise.all(pids.map((child) => treeUsage(child)));
    return below.reduce<TreeUsage>((sum, one) => add(sum, one), own);
  } catch {
    return undefined;
  }
}

function add(a: TreeUsage, b: TreeUsage | undefined): TreeUsage {
  if (b === undefined) return a;
  return {
    memoryBytes: a.memoryBytes + b.memoryBytes,
    peakMemoryBytes: a.peakMemoryBytes + b.peakMemoryBytes,
    cpuMs: a.cpuMs + b.cpuMs,
  };
}

function kibibytes(status: string, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? 0);
}

/** The name in parentheses may contain anything, so the fields are counted from its end. */
function cpuTicks(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return Number(fields[11] ?? 0) + Number(fields[12] ?? 0);
}
