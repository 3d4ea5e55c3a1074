import { stat } from "node:fs/promises";
import { join } from "node:path";

/** Paths under /proc of a cell to cover: files with an empty read-only file, directories with an empty directory. */
export interface ProcMasks {
  readonly files: readonly string[];
  readonly directories: readonly string[];
}

/** They tell about the machine and its other tenants: hardware, devices, boot line, addresses in the Linux kernel, keys. */
const telltaleFiles = [
  ...["keys", "key-users", "kallsyms", "modules", "cmdline", "config.gz", "interrupts", "iomem", "ioports", "mtrr"],
  ...["partitions", "diskstats", "schedstat", "sched_debug", "timer_list", "latency_stats"],
];
const telltaleDirectories = ["acpi", "asound", "scsi", "driver"];

/**
 * Which masks this host needs. What only root may open is closed by the cell's uid already, and every mask costs start
 * time, so only what is there and open to others is covered.
 */
export async function findProcMasks(procRoot = "/proc"): Promise<ProcMasks> {
  const open = async (names: readonly string[]) => {
    const found = await Promise.all(
      names.map(async (name) => ((await openToOthers(join(procRoot, name))) ? [name] : [])),
    );
    return found.flat().map((name) => `/proc/${name}`);
  };
  return { files: await open(telltaleFiles), directories: await open(telltaleDirectories) };
}

async function openToOthers(path: string): Promise<boolean> {
  const readOrWriteByOthers = 0o006;
  try {
    return ((await stat(path)).mode & readOrWriteByOthers) !== 0;
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    return !isAbsent; // what cannot be judged is masked
  }
}
