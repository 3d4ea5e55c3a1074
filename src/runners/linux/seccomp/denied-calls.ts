import type { SyscallName } from "./syscalls.ts";

/** Refused with ENOSYS, because programs have a fallback for calls that the Linux kernel lacks. */
const absent: Record<string, readonly SyscallName[]> = {
  // its flags are in memory, where the filter cannot check them for new namespaces; libc falls back to clone
  namespacesUnseen: ["clone3"],
  // performs other calls without the filter
  callsUnseen: ["io_uring_setup", "io_uring_enter", "io_uring_register"],
  // a limit of the whole machine (fs.aio-max-nr) that one cell could use up
  asynchronousFiles: ["io_setup", "io_submit"],
  kernelAttackSurface: ["userfaultfd", "memfd_secret", "open_tree_attr"],
  // these objects outlive their process and count as the cell's memory; without a memory cgroup nothing limits them
  systemVObjects: ["shmget", "semget", "msgget"],
};

/** Refused with EPERM. */
const denied: Record<string, readonly SyscallName[]> = {
  mounts: ["mount", "umount2", "pivot_root", "chroot"],
  mountsByDescriptor: ["fsopen", "fsconfig", "fsmount", "fspick", "move_mount", "open_tree", "mount_setattr"],
  namespaces: ["setns", "sethostname", "setdomainname"],
  // stops user code from reading or controlling the supervisor, which has the same uid
  otherProcesses: ["ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise"],
  observation: ["bpf", "perf_event_open", "fanotify_init", "fanotify_mark", "lookup_dcookie", "syslog", "acct"],
  // keyrings have no namespace, so cells with the same uid could exchange keys
  keyrings: ["add_key", "request_key", "keyctl"],
  // a file handle can open files outside the mounts
  fileHandles: ["name_to_handle_at", "open_by_handle_at"],
  modules: ["init_module", "finit_module", "delete_module", "create_module", "query_module", "get_kernel_syms"],
  machine: ["kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff", "quotactl", "quotactl_fd", "vhangup"],
  clocks: ["settimeofday", "clock_settime", "clock_adjtime", "adjtimex"],
  hardware: ["iopl", "ioperm", "modify_ldt"],
  memoryPlacement: ["mbind", "set_mempolicy", "set_mempolicy_home_node", "migrate_pages", "move_pages"],
  // gives a process's pages to a pipe, so that data can change after the reader has checked it
  pageGifts: ["vmsplice"],
  obsolete: ["nfsservctl", "uselib", "ustat", "sysfs", "_sysctl"],
};

export const absentCalls: readonly SyscallName[] = Object.values(absent).flat();
export const deniedCalls: readonly SyscallName[] = Object.values(denied).flat();

/** Calls that a cell's setup needs inside its own namespaces, besides unshare. */
export const setupCalls: readonly SyscallName[] = ["mount", "move_mount", "sethostname"];

/**
 * Refused in the worker with ENOSYS. The attack: a watch on a directory of the host, which every cell sees read-only, tells what
 * the host and other sessions do there. The supervisor itself watches the workspace for changed files.
 */
export const watchCalls: readonly SyscallName[] = ["inotify_init", "inotify_init1", "inotify_add_watch"];

/** Every call that sends a signal, or opens a handle that can. */
export const signalCalls: readonly SyscallName[] = [
  "kill",
  "tkill",
  "tgkill",
  "rt_sigqueueinfo",
  "rt_tgsigqueueinfo",
  "pidfd_open",
  "pidfd_send_signal",
];
