/** A module of CPython's own tests, without the tests whose id contains one of `without`. */
export interface TestModule {
  readonly module: string;
  readonly without: readonly string[];
}

/** Modules around processes, signals, sockets and files, without the tests that mostly wait. The slowest come first. */
const usualModules: readonly TestModule[] = [
  some("test_subprocess", [
    "ProcessTestCaseNoPoll",
    "_timeout",
    "_dead",
    "_stdout_close",
    "test_pass_fds",
    "test_swap_",
  ]),
  some("test_signal", ["StressTest", "test_siginterrupt_off", "test_itimer_virtual"]),
  some("test_socket", [
    ...["NetworkConnectionBehaviourTest", "_interrupted", "testInterruptedTimeout", "testReadAfterTimeout"],
    ...["testWithTimeoutTriggeredSend", "TCPCloserTest"],
  ]),
  some("test_eintr"),
  some("test_os"),
  some("test_threadsignals"),
  some("test_posix"),
  some("test_selectors", ["test_select_interrupt", "test_timeout", "test_above_fd_setsize"]),
  some("test_poll", ["test_poll2"]),
  some("test_select"),
  some("test_pathlib"),
  some("test_shutil"),
  some("test_tempfile"),
  some("test_epoll"),
  some("test_fcntl"),
  some("test_fileio"),
  some("test_glob"),
  some("test_mmap"),
  some("test_popen"),
  some("test_pty"),
  some("test_resource"),
  some("test_pwd"),
  some("test_grp"),
];

const aboutFileNames = ["test_pathlib", "test_shutil", "test_tempfile", "test_fileio", "test_glob"];
/** For containers: without modules whose result depends on the file system alone. */
export const containerModules = usualModules.filter(({ module }) => !aboutFileNames.includes(module));

/** Minutes, and more than a busy machine can do in time. */
const long: readonly TestModule[] = [
  // Linux can interrupt a kill(2) in a cell: see "Signals" in docs/compatibility.md
  some("test_signal", ["test_stress_delivery_simultaneous"]),
  some("test_concurrent_futures"),
  some("test_threading", ["test_4_daemon_threads"]),
  some("test_faulthandler"),
  some("test_subprocess"),
  some("test_socket"),
  some("test_selectors"),
  some("test_poll"),
  some("test_fork1"),
  some("test_wait3"),
  some("test_wait4"),
];

/** `CODECELL_TEST_CPYTHON=all` adds the long ones, with a limit of their own. */
export const runsAll = process.env.CODECELL_TEST_CPYTHON === "all";
export const modules = runsAll ? withLong() : usualModules;
/** for one module, in seconds */
export const moduleSeconds = runsAll ? 600 : 150;

function some(module: string, without: readonly string[] = []): TestModule {
  return { module, without };
}

function withLong(): TestModule[] {
  return [...long, ...usualModules.filter(({ module }) => !long.some((one) => one.module === module))];
}
