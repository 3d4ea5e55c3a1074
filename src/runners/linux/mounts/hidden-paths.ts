/** Paths that reveal details of the machine and its other tenants, in addition to those that container runtimes hide. */
export const hiddenPaths: readonly string[] = [
  ...["/proc/acpi", "/proc/asound", "/proc/driver", "/proc/kcore", "/proc/keys", "/proc/key-users", "/proc/kallsyms"],
  ...["/proc/modules", "/proc/cmdline", "/proc/config.gz", "/proc/interrupts", "/proc/iomem", "/proc/ioports"],
  ...["/proc/mtrr", "/proc/partitions", "/proc/diskstats", "/proc/schedstat", "/proc/sched_debug", "/proc/scsi"],
  ...["/proc/timer_list", "/proc/timer_stats", "/proc/latency_stats", "/proc/bus", "/proc/fs", "/proc/irq"],
  ...["/proc/zoneinfo", "/proc/vmstat", "/proc/softirqs", "/proc/buddyinfo", "/proc/pressure", "/proc/locks"],
  // the same in every cell of one host, until it is restarted
  ...["/proc/sys/kernel/random/boot_id", "/sys"],
];
