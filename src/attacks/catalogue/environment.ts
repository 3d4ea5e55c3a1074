import type { Attack } from "../attack.ts";
import { does, says } from "./make-attack.ts";
import { noProc, noProcesses, searchOwnMemory, shownBySrt } from "./shared-facts.ts";

const empty = {
  kind: "exfiltration",
  containedBy: { default: "the cell starts with an empty environment" },
  weakness: "host-environment",
} as const;
const ownEtc = {
  kind: "exfiltration",
  containedBy: { default: "files in /etc of its own", wasm: "there are no such files" },
} as const;

/** What a program can learn about the host and its user without opening any of their files. */
export const environmentAttacks: readonly Attack[] = [
  does(
    "environment/variable",
    "reads an environment variable of the host",
    `show(dict(os.environ))\nverdict = unless(host["variable"] in os.environ, "has the variable")`,
    empty,
  ),
  says(
    "environment/undocumented",
    "has environment variables other than the documented ones",
    `nothing(sorted(k for k in os.environ if k not in ("PATH", "HOME", "LANG", "TMPDIR", "MPLCONFIGDIR", "XDG_CACHE_HOME", "OPENBLAS_NUM_THREADS", "GLIBC_TUNABLES", "MPLBACKEND", "GREETING", "LC_CTYPE", "LD_LIBRARY_PATH", "TZ")))`,
    empty,
  ),
  does(
    "environment/first-environment",
    "reads the environment that its processes were started with",
    `show(text_of("/proc/self/environ", "/proc/1/environ", "/proc/thread-self/environ"))\nverdict = unless(host["variable"] in text_of("/proc/self/environ", "/proc/1/environ"), "has the variable")`,
    { ...empty, notTried: noProc },
  ),
  {
    ...does("environment/bash", "reads the host's environment in bash", "", empty),
    language: "bash",
    code: `env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'
if env | grep -q "^$HOST_variable="; then verdict="has the variable"; else verdict=contained; fi`,
    notTried: noProcesses,
  },
  does(
    "environment/memory",
    "searches its own memory for the host's secret",
    `
${searchOwnMemory}verdict = "contained" # the host looks for its secret in what was printed`,
    {
      ...empty,
      containedBy: { default: "the host's secrets never enter the cell" },
      notTried: noProc,
      timeoutMs: 20_000,
    },
  ),
  says(
    "environment/names",
    "learns the name of the host or its user",
    `nothing([n for n in host["names"] if n in text_of("/etc/hostname", "/etc/hosts", "/proc/sys/kernel/hostname", "/etc/passwd", "/etc/group", "/etc/subuid", "/etc/machine-id") or n == socket.gethostname()])`,
    { ...ownEtc, weakness: "host-network" },
  ),
  says(
    "environment/users",
    "reads the users of the host in /etc/passwd",
    `nothing([line.split(":")[0] for line in text_of("/etc/passwd").splitlines() if line.split(":")[0] not in ("root", "cell")])`,
    { ...ownEtc, weakness: "privileged" },
  ),
  says(
    "environment/name-servers",
    "learns the host's name servers",
    `nothing([line for line in text_of("/etc/resolv.conf").splitlines() if line.startswith(("nameserver", "search", "domain"))])`,
    { ...ownEtc, weakness: "host-network" },
  ),
  says(
    "environment/known-hosts",
    "reads names of other machines in /etc/hosts",
    `nothing(sorted({n for line in text_of("/etc/hosts").splitlines() for n in line.split("#")[0].split()[1:]} - {"cell", "localhost"}))`,
    { ...ownEtc, weakness: "host-network" },
  ),
  says(
    "environment/machine-id",
    "reads the number that identifies the host",
    `reads("/etc/machine-id", "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid", "/sys/class/dmi/id/product_serial")`,
    {
      ...ownEtc,
      control: { none: "not every host has such a number" },
    },
  ),
  does(
    "environment/command-lines",
    "reads paths of the host in the command lines of its cell",
    `
text = "\\n".join(text_of("/proc/%d/cmdline" % pid) for pid in pids())
verdict = nothing([name for name in host["names"] if name in text])`,
    {
      ...empty,
      containedBy: { default: "pid namespace; the cell's own programs have no host paths" },
      exceptions: shownBySrt("found"),
      notTried: noProc,
      weakness: "host-processes",
    },
  ),
  does(
    "environment/kernel-files",
    "reads paths of the host in the files and modules of its interpreter",
    `
import sys
found = set()
for module in list(sys.modules.values()):
    for name in ("__file__", "__cached__"):
        path = getattr(module, name, None)
        if isinstance(path, str): found.update(n for n in host["names"] if n in path)
found.update(n for n in host["names"] if any(n in part for part in sys.path + sys.argv + [sys.executable or ""]))
verdict = nothing(sorted(found))`,
    {
      ...ownEtc,
      containedBy: { default: "the kernel's files have paths of the cell" },
      control: { none: "programs of a container have its own paths" },
    },
  ),
];
