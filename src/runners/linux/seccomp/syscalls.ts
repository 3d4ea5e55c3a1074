/** Processor architectures that have a seccomp filter, as in `process.arch`. */
export type FilterArch = "x64" | "arm64";

/**
 * Numbers [x64, arm64] of every system call that the filters and their tests name. Null if the architecture lacks it.
 * Source: asm/unistd_64.h and asm-generic/unistd.h.
 */
const table = {
  _sysctl: [156, null],
  acct: [163, 89],
  add_key: [248, 217],
  adjtimex: [159, 171],
  bpf: [321, 280],
  capset: [126, 91],
  chroot: [161, 51],
  clock_adjtime: [305, 266],
  clock_settime: [227, 112],
  clone: [56, 220],
  clone3: [435, 435],
  create_module: [174, null],
  delete_module: [176, 106],
  execve: [59, 221],
  fallocate: [285, 47],
  fanotify_init: [300, 262],
  fanotify_mark: [301, 263],
  fcntl: [72, 25],
  finit_module: [313, 273],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fsopen: [430, 430],
  fspick: [433, 433],
  get_kernel_syms: [177, null],
  init_module: [175, 105],
  inotify_add_watch: [254, 27],
  inotify_init: [253, null],
  inotify_init1: [294, 26],
  io_setup: [206, 0],
  io_submit: [209, 2],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  io_uring_setup: [425, 425],
  ioctl: [16, 29],
  ioperm: [173, null],
  iopl: [172, null],
  ioprio_set: [251, 30],
  kcmp: [312, 272],
  kexec_file_load: [320, 294],
  kexec_load: [246, 104],
  keyctl: [250, 219],
  kill: [62, 129],
  lookup_dcookie: [212, 18],
  mbind: [237, 235],
  memfd_create: [319, 279],
  memfd_secret: [447, 447],
  migrate_pages: [256, 238],
  modify_ldt: [154, null],
  mmap: [9, 222],
  mount: [165, 40],
  mount_setattr: [442, 442],
  move_mount: [429, 429],
  move_pages: [279, 239],
  mq_open: [240, 180],
  msgget: [68, 186],
  name_to_handle_at: [303, 264],
  nfsservctl: [180, 42],
  open_by_handle_at: [304, 265],
  open_tree: [428, 428],
  open_tree_attr: [467, 467],
  openat: [257, 56],
  perf_event_open: [298, 241],
  personality: [135, 92],
  pidfd_getfd: [438, 438],
  pidfd_open: [434, 434],
  pidfd_send_signal: [424, 424],
  pivot_root: [155, 41],
  prctl: [157, 167],
  prlimit64: [302, 261],
  process_madvise: [440, 440],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  ptrace: [101, 117],
  query_module: [178, null],
  quotactl: [179, 60],
  quotactl_fd: [443, 443],
  read: [0, 63],
  reboot: [169, 142],
  request_key: [249, 218],
  rt_sigqueueinfo: [129, 138],
  rt_tgsigqueueinfo: [297, 240],
  sched_setaffinity: [203, 122],
  sched_setattr: [314, 274],
  sched_setparam: [142, 118],
  sched_setscheduler: [144, 119],
  seccomp: [317, 277],
  semget: [64, 190],
  set_mempolicy: [238, 237],
  set_mempolicy_home_node: [450, 450],
  setdomainname: [171, 162],
  sethostname: [170, 161],
  setns: [308, 268],
  setpriority: [141, 140],
  setsockopt: [54, 208],
  settimeofday: [164, 170],
  shmget: [29, 194],
  socket: [41, 198],
  socketpair: [53, 199],
  statx: [332, 291],
  swapoff: [168, 225],
  swapon: [167, 224],
  sysfs: [139, null],
  syslog: [103, 116],
  tgkill: [234, 131],
  tkill: [200, 130],
  umount2: [166, 39],
  unshare: [272, 97],
  uselib: [134, null],
  userfaultfd: [323, 282],
  ustat: [136, null],
  vhangup: [153, 58],
  vmsplice: [278, 75],
  wait4: [61, 260],
} as const satisfies Record<string, readonly [number | null, number | null]>;

export type SyscallName = keyof typeof table;

/**
 * The highest number that this table was checked against. The filter refuses higher numbers, so calls of newer Linux
 * kernels stay blocked until they have been reviewed.
 */
export const highestKnownSyscall = 469;

/** The number of a system call, or undefined if the architecture lacks it. */
export function syscallNumber(name: SyscallName, arch: FilterArch): number | undefined {
  return table[name][arch === "x64" ? 0 : 1] ?? undefined;
}

/** The numbers of all calls that the architecture has, by name. */
export function syscallNumbers(arch: FilterArch): Record<string, number> {
  const names = Object.keys(table) as SyscallName[];
  return Object.fromEntries(
    names.flatMap((name) => [[name, syscallNumber(name, arch)]]).filter(([, n]) => n !== undefined),
  );
}
