import type { SyscallName } from "./syscalls.ts";

/** Refused with ENOSYS: programs have a fallback for a call that this Linux kernel does not have. */
const absent: Record<string, readonly SyscallName[]> = {
  // the flags are in memory, where no filter can read them; libc falls back to clone
  namespacesUnseen: ["clone3"],
  // carries out other calls past the filter
  callsUnseen: ["io_uring_setup", "io_uring_enter", "io_uring_register"],
  kernelAttackSurface: ["userfaultfd", "memfd_secret", "open_tree_attr"],
  // they outlive their process and would stay charged to the cell; without a memory cgroup nothing bounds them
  systemVObjects: ["shmget", "semget", "msgget"],
};

/** Refused with EPERM. */
const denied: Record<string, readonly SyscallName[]> = {
  mounts: ["mount", "umount2", "pivot_root", "chroot"],
  mountsByDescriptor: ["fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree", "mount_setattr"],
  namespaces: ["setns", "sethostname", "setdomainname"],
  // the supervisor shares the worker's uid
  otherProcesses: ["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise"],
  observation: ["bpf", "perf_event_open", "fanotify_init", "fanotify_mark", "lookup_dcookie", "syslog", "acct"],
  // keyrings are no namespace: a key would be seen by every cell of the same uid
  keyrings: ["add_key", "request_key", "keyctl"],
  // a file handle opens files that lie outside the mounts
  fileHandles: ["name_to_handle_at", "open_by_handle_at"],
  modules: ["init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms"],
  machine: ["kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "quotactl", "quotactl_fd", "vhangup"],
  clocks: ["settimeofday", "clock_settime", "clock_adjtime", "adjtimex"],
  hardware: ["iopl", "ioperm", "modify_ldt"],
  memoryPlacement: ["mbind", "set_mempolicy", "set_mempolicy_home_node", "migrate_pages", "move_pages"],
  // hands pages of a process to a pipe, where later writes still show
  pageGifts: ["vmsplice"],
  obsolete: ["nfsservctl", "uselib", "ustat", "sysfs", "_sysctl"],
};

export const absentCalls: readonly SyscallName[] = Object.values(absent).flat();
export const deniedCalls: readonly SyscallName[] = Object.values(denied).flat();

/** What a cell's set-up calls inside its own namespaces, besides unshare. */
export const setupCalls: readonly SyscallName[] = ["mount", "sethostname"];

/** Every way to send a signal, or to get a handle that can. */
export const signalCalls: readonly SyscallName[] = [
  "kill",
  "tkill",
  "tgkill",
  "rt_sigqueueinfo",
  "rt_tgsigqueueinfo",
  "pidfd_open",
  "pidfd_send_signal",
];
