export type CellKind = "process" | "container";

/** A known difference between a program in a cell and outside. */
export interface Difference {
  /** its row in docs/compatibility.md */
  readonly topic: string;
  /** ids of tests that pass only outside; `*` stands for any characters */
  readonly tests: readonly string[];
  readonly in: readonly CellKind[];
  /** why it is so on purpose */
  readonly because: string;
}

const everywhere: readonly CellKind[] = ["process", "container"];

export const differences: readonly Difference[] = [
  {
    topic: "UDP-Lite",
    tests: ["test_socket.*UDPLITE*"],
    in: everywhere,
    because: "the system call filter allows TCP and UDP only: other protocols are attack surface of the Linux kernel",
  },
  {
    topic: "Interface lists",
    tests: [
      "test_socket.GeneralModuleTests.testInterfaceNameIndex",
      "test_socket.GeneralModuleTests.test_getaddrinfo_ipv6_scopeid_symbolic",
      "test_socket.GeneralModuleTests.test_getnameinfo_ipv6_scopeid_symbolic",
    ],
    in: everywhere,
    because: "if_nameindex() needs netlink, which the system call filter refuses (see `socketRule` in seccomp.ts)",
  },
  {
    topic: "pidfd signals",
    tests: ["test_signal.PidfdSignalTest.test_pidfd_send_signal"],
    in: everywhere,
    because: "the supervisor cannot see which process a pidfd belongs to, so user code could kill parked copies",
  },
  {
    topic: "Other users",
    tests: ["test_os.ChownFileTests.test_chown_without_permission", "test_subprocess.POSIXProcessTestCase.test_user"],
    in: ["process"],
    because: "the user namespace has one user, so other uids are invalid (EINVAL) and not just forbidden (EPERM)",
  },
  {
    topic: "Group names",
    tests: [
      "test_subprocess.POSIXProcessTestCase.test_extra_groups",
      "test_subprocess.POSIXProcessTestCase.test_group",
    ],
    in: everywhere,
    because: "the cell's /etc/group has no group `nobody`, so these tests are skipped",
  },
  {
    topic: "Watches of files",
    tests: ["test_fcntl.TestFcntl.test_fcntl_64_bit"],
    in: everywhere,
    because: "F_NOTIFY watches a directory: on one of the host, it would show what others do there (ADR 40)",
  },
  {
    topic: "Large files",
    tests: ["test_mmap.LargeMmapTests.*"],
    in: everywhere,
    because: "`proc.disk` limits the size of a file, so tests with files of gigabytes are skipped",
  },
  {
    topic: "File size limit",
    tests: ["test_resource.ResourceTest.test_fsize_ismax"],
    in: everywhere,
    because: "`proc.disk` is also a limit on the size of one file",
  },
];
