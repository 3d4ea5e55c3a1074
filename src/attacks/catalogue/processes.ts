import type { Attack } from "../attack.ts";
import { does, says } from "./make-attack.ts";
import { byFilter, byPids, except, noProcesses, noSystemCalls } from "./shared-facts.ts";

const apart = { containedBy: byPids, notTried: noProcesses, weakness: "host-processes" } as const;
const supervisor = {
  containedBy: { default: "the supervisor is pid 1 and not dumpable; system call filter" },
  notTried: noProcesses,
} as const;

/** Python: each statement, although it may be refused. */
function tries(...statements: readonly string[]): string {
  return statements.map((statement) => `try: ${statement}\nexcept OSError: pass`).join("\n");
}

/** Other processes, those of the host and the cell's own supervisor, and rights that a program does not have. */
export const processAttacks: readonly Attack[] = [
  says(
    "processes/of-the-host",
    "sees processes of the host",
    `nothing([p for p in pids() if host["mark"] in text_of("/proc/%d/cmdline" % p, "/proc/%d/environ" % p)])`,
    apart,
  ),
  says(
    "processes/how-many",
    "counts the processes of the host",
    `unless(len(pids()) >= 10, "saw %d processes" % len(pids()))`,
    apart,
  ),
  does(
    "processes/kill-by-number",
    "kills a process of the host by its number",
    `verdict = refused(lambda: os.kill(host["pid"], 9), "signalled it") if host["pid"] not in pids() else "sees it"`,
    apart,
  ),
  does(
    "processes/environments",
    "reads the secret from the environment of any process it can see",
    `
for pid in pids():
    for name in ("environ", "cmdline", "auxv", "maps", "status", "cgroup", "mountinfo"):
        show(text_of("/proc/%d/%s" % (pid, name)))
verdict = "contained" # the host looks for its secret in what was shown`,
    { ...apart, kind: "exfiltration" },
  ),
  does(
    "processes/kill-supervisor",
    "kills the supervisor of its own cell",
    `
import signal
for number in (9, 15, 2, 19, 11):
    try: os.kill(1, number)
    except OSError: pass
verdict = "contained" # had it worked, no verdict would arrive`,
    {
      ...supervisor,
      containedBy: { default: "pid 1 of its namespace", gvisor: "system call filter" },
      exceptions: except("srt", "crashed", "process 1 is sandbox-runtime's own; killing it ends only the cell itself"),
      control: { none: "it attacks only codecell's own supervisor" },
    },
  ),
  does(
    "processes/kill-parked-copy",
    "kills the parked copy that restores its state after a crash",
    // an older copy may be exiting, and a signal to it does no harm: only the one that stays counts
    `
import time
look = lambda: set(pids()) - {1, os.getpid()}
others = look()
time.sleep(0.5)
others &= look()
killed = []
for pid in others:
    try: os.kill(pid, 9); killed.append(pid)
    except OSError: pass
verdict = nothing(killed, "killed")`,
    {
      containedBy: { default: "system calls that send signals ask the supervisor" },
      notTried: { ...noProcesses, srt: "its cells have no parked copy that is told apart by its number" },
      afterIdle: true,
      needsOwnCell: true,
      exceptions: except(
        "gvisor",
        "killed",
        "gVisor's Linux kernel cannot ask the supervisor; the state is lost, the session stays usable",
      ),
      control: { none: "it attacks only codecell's own parked copy" },
    },
  ),
  says(
    "processes/memory-of-supervisor",
    "opens the memory of its supervisor",
    `refused(lambda: read("/proc/1/mem", 1))`,
    {
      ...supervisor,
      weakness: "privileged",
    },
  ),
  says(
    "processes/descriptors-of-supervisor",
    "lists the descriptors of its supervisor, among them its channel to the host",
    `refused(lambda: os.listdir("/proc/1/fd")[0])`,
    {
      ...supervisor,
      weakness: "privileged",
      exceptions: except(
        "gvisor",
        "done",
        "gVisor's Linux kernel only checks for the same user; those descriptors belong to the cell's own session",
      ),
    },
  ),
  says(
    "processes/environment-of-supervisor",
    "reads the environment of process 1",
    `refused(lambda: [show(read(p)) for p in ("/proc/1/environ",)])`,
    {
      ...supervisor,
      kind: "exfiltration",
      exceptions: {
        ...except("gvisor", "done", "the environment of the cell's own supervisor, which has nothing of the host"),
      },
      control: { none: "its environment has nothing of the host on any tier; the host looks for its secret in it" },
    },
  ),
  does(
    "processes/slow-supervisor",
    "gives its supervisor the lowest priority",
    `
found = []
for action in (lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.sched_setaffinity(1, {0}), lambda: os.sched_setscheduler(1, 5, os.sched_param(0))):
    try: action(); found.append(1)
    except OSError: pass
verdict = nothing(found, "slowed it down")`,
    { ...supervisor, weakness: "privileged" },
  ),
  does(
    "identity/root",
    "becomes root",
    `${tries("os.setuid(0)", "os.seteuid(0)", "os.setresuid(0, 0, 0)")}
verdict = unless(0 in os.getresuid(), "is root")`,
    {
      containedBy: { default: "unprivileged user without capabilities" },
      notTried: noProcesses,
      weakness: "privileged",
    },
  ),
  does(
    "identity/groups",
    "becomes a member of other groups",
    `${tries("os.setgroups([0])", "os.setgid(0)", "os.setresgid(0, 0, 0)")}
verdict = unless(0 in os.getresgid() or 0 in os.getgroups(), "is in the group of root")`,
    {
      containedBy: { default: "unprivileged user without capabilities" },
      notTried: noProcesses,
      weakness: "privileged",
    },
  ),
  says(
    "identity/is-root",
    "is root without doing anything",
    `unless(os.getuid() == 0 or os.geteuid() == 0, "is root")`,
    {
      containedBy: { default: "unprivileged user" },
      notTried: { wasm: "user ids are numbers that the interpreter makes up" },
      weakness: "privileged",
    },
  ),
  says(
    "identity/capabilities",
    "has a capability",
    `nothing([name for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb") if int(status(name) or "0", 16)])`,
    {
      containedBy: { default: "all capabilities dropped" },
      notTried: noProcesses,
      weakness: "privileged",
      exceptions: except(
        "srt",
        'found ["CapBnd"]',
        "the bounding set is only an upper bound: no_new_privs keeps every program from getting any of it",
      ),
    },
  ),
  says(
    "identity/new-privileges",
    "may gain privileges from programs that it starts",
    `unless(call("prctl", 39, 0, 0, 0, 0) != 1, "no_new_privs is not set")`,
    { containedBy: { default: "no_new_privs" }, notTried: noProcesses, weakness: "privileged" },
  ),
  says(
    "identity/filter",
    "runs without a system call filter",
    `unless(status("Seccomp") != "2", "there is no filter")`,
    {
      containedBy: byFilter,
      notTried: { wasm: "it makes no system calls: the process around it has the filter" },
      weakness: "privileged",
    },
  ),
  does(
    "identity/set-user-id",
    "gains privileges through a set-user-ID program that it made",
    `
import shutil, subprocess
shutil.copy("/usr/bin/id", "/tmp/id"); os.chmod("/tmp/id", 0o6755)
try: out = subprocess.run(["/tmp/id", "-u"], capture_output=True, text=True).stdout.strip()
except OSError: out = ""
finally: os.remove("/tmp/id")
verdict = unless(out == "0", "became root")`,
    {
      containedBy: { default: "no_new_privs, unprivileged user" },
      notTried: noProcesses,
      weakness: "privileged",
    },
  ),
  does(
    "identity/existing-set-user-id",
    "gains privileges through set-user-ID programs that exist",
    `
import subprocess
found = []
for directory in ("/usr/bin", "/usr/sbin", "/usr/lib", "/bin", "/sbin"):
    for name in os.listdir(directory) if os.path.isdir(directory) else ():
        path = directory + "/" + name
        try: info = os.lstat(path)
        except OSError: continue
        if stat.S_ISREG(info.st_mode) and info.st_mode & 0o4000 and info.st_uid == 0: found.append(path)
if not found: not_tried("there are no set-user-ID programs")
# unshare --map-root would say 0 in a namespace: su asks for the real one
out = subprocess.run(["sh", "-c", "su -c 'id -u' </dev/null"], capture_output=True, text=True, timeout=5).stdout.strip()
verdict = unless(out == "0", "became root with su")`,
    {
      containedBy: { default: "no_new_privs, mounts without set-user-ID" },
      notTried: noProcesses,
      weakness: "privileged",
    },
  ),
  does(
    "identity/limits",
    "raises its own limits",
    `
import resource
before = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
try: resource.setrlimit(resource.RLIMIT_NOFILE, (before + 1, before + 1))
except (OSError, ValueError): pass
verdict = unless(resource.getrlimit(resource.RLIMIT_NOFILE)[1] > before, "raised it")`,
    {
      containedBy: { default: "hard limits, no capability to raise them" },
      notTried: noSystemCalls,
      weakness: "privileged",
    },
  ),
];
