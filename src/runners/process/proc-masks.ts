import { statSync } from "node:fs";
import { join } from "node:path";

/** Paths under /proc of a cell to cover: files with an empty read-only file, directories with an empty directory. */
export interface ProcMasks {
  readonly files: readonly string[];
  readonly directories: readonly string[];
}

/** Files that reveal details of the machine and its other tenants: hardware, boot line, Linux kernel addresses, keys, load. */
const telltaleFiles = [
  ...["keys", "key-users", "kallsyms", "modules", "cmdline", "config.gz", "interrupts", "iomem", "ioports", "mtrr"],
  ...["partitions", "diskstats", "schedstat", "sched_debug", "timer_list", "latency_stats"],
  ...["zoneinfo", "vmstat", "softirqs", "buddyinfo", "locks"],
  // the same in every cell of one host until it is restarted, so two sessions could tell that they share a machine
  "sys/kernel/random/boot_id",
];
const telltaleDirectories = ["acpi", "asound", "scsi", "driver", "fs", "bus", "irq", "pressure"];

/**
 * Finds the masks that this host needs. The cell's uid cannot open what only root may open, and every mask costs start
 * time, so only paths that exist and are open to others are masked.
 */
export function findProcMasks(procRoot = "/proc"): ProcMasks {
  const open = (names: readonly string[]) =>
    names.filter((name) => openToOthers(join(procRoot, name))).map((name) => `/proc/${name}`);
  return { files: open(telltaleFiles), directories: open(telltaleDirectories) };
}

function openToOthers(path: string): boolean {
  const readOrWriteByOthers = 0o006;
  try {
    return (statSync(path).mode & readOrWriteByOthers) !== 0;
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    return !isAbsent; // mask it if in doubt
  }
}
