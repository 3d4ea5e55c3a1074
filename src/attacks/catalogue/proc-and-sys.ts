import type { Attack } from "../attack.ts";
import { does, says } from "./make-attack.ts";
import { byMasks, byReadOnly, except, noProc, shownInPods, shownUnmasked } from "./shared-facts.ts";

const masked = { kind: "exfiltration", containedBy: byMasks, notTried: noProc } as const;
const readOnly = { containedBy: byReadOnly, notTried: noProc, weakness: "privileged" } as const;

const layersShown =
  "the Linux kernel shows the layers of the root file system; only a tier with its own Linux kernel hides them";

const revealing: readonly (readonly [name: string, what: string])[] = [
  ["kcore", "the memory of the Linux kernel"],
  ["kallsyms", "the addresses of the Linux kernel's functions"],
  ["keys", "the keys of the host's users"],
  ["kmsg", "the Linux kernel's log"],
  ["modules", "the modules of the Linux kernel"],
  ["iomem", "the map of the machine's memory"],
  ["partitions", "the disks of the host"],
  ["diskstats", "how the host's disks are used"],
  ["interrupts", "the hardware of the host, and when keys are pressed"],
  ["timer_list", "the timers of every process of the host"],
  ["config.gz", "how the Linux kernel was built"],
  ["sched_debug", "every process of the host"],
];

/** What Linux tells about the host in /proc, /sys and /dev, and what can be changed there. */
export const procAndSysAttacks: readonly Attack[] = [
  ...revealing.map(([name, what]) =>
    says(`proc/${name.replace(/[\W_]/g, "-")}`, `reads ${what} in /proc/${name}`, `reads("/proc/${name}")`, {
      ...masked,
      weakness: "privileged",
      exceptions: shownUnmasked("read"),
    }),
  ),
  says("proc/cmdline", "reads how the host was started in /proc/cmdline", `reads("/proc/cmdline")`, {
    ...masked,
    weakness: "privileged",
    exceptions: {
      ...except("gvisor", "read", "the command line of gVisor's own Linux kernel, the same everywhere"),
      ...shownUnmasked("read"),
    },
  }),
  does(
    "proc/settings",
    "changes a setting of the Linux kernel",
    `
found = []
for directory, _, names in os.walk("/proc/sys"):
    for name in names:
        path = directory + "/" + name
        try: fd = os.open(path, os.O_WRONLY)
        except OSError: continue
        if not stat.S_ISCHR(os.fstat(fd).st_mode): found.append(path) # engines cover files with /dev/null
        os.close(fd)
verdict = nothing(found, "may change")`,
    {
      ...readOnly,
      exceptions: except(
        "srt",
        'may change ["/proc/sys/kernel/ns_last_pid"]',
        "it belongs to the cell's own pid namespace",
      ),
    },
  ),
  says(
    "proc/core-pattern",
    "has the Linux kernel start a program of its own on the host at the next crash",
    `refused(lambda: os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))`,
    readOnly,
  ),
  says(
    "proc/modprobe",
    "has the Linux kernel start a program of its own on the host for an unknown module",
    `refused(lambda: os.open("/proc/sys/kernel/modprobe", os.O_WRONLY))`,
    readOnly,
  ),
  says(
    "proc/binfmt",
    "has the Linux kernel start a program of its own on the host for a kind of file",
    `refused(lambda: os.open("/proc/sys/fs/binfmt_misc/register", os.O_WRONLY))`,
    { ...readOnly, control: { none: "few hosts have this file system mounted" } },
  ),
  says(
    "proc/sysrq",
    "triggers a system request key",
    `refused(lambda: os.open("/proc/sysrq-trigger", os.O_WRONLY))`,
    readOnly,
  ),
  does(
    "proc/own-identity",
    "maps user ids, or changes how the memory killer treats process 1",
    `
found = []
for path in ("/proc/1/oom_score_adj", "/proc/1/uid_map", "/proc/self/uid_map", "/proc/1/gid_map", "/proc/1/attr/current", "/proc/1/timens_offsets"):
    try: fd = os.open(path, os.O_WRONLY)
    except OSError: continue
    try: os.write(fd, b"0"); found.append(path)
    except OSError: pass
    finally: os.close(fd)
verdict = nothing(found, "wrote to")`,
    readOnly,
  ),
  says("proc/sys", "sees devices and settings of the host in /sys", `reads("/sys")`, {
    ...masked,
    weakness: "privileged",
    notTried: {},
    exceptions: {
      ...except("gvisor", "read", "the sysfs of gVisor's own Linux kernel: usable processors and empty directories"),
      ...shownInPods("read"),
    },
  }),
  does(
    "proc/release-agent",
    "has the Linux kernel start a program of its own on the host when a control group is empty",
    `
found = []
for directory, names, files in os.walk("/sys/fs/cgroup"):
    for name in files:
        if name not in ("release_agent", "notify_on_release", "cgroup.procs", "memory.max", "memory.limit_in_bytes"): continue
        try: os.close(os.open(directory + "/" + name, os.O_WRONLY)); found.append(directory + "/" + name)
        except OSError: pass
verdict = nothing(found, "may write to")`,
    {
      ...readOnly,
      exceptions: except(
        "gvisor",
        "may write to",
        "control groups of gVisor's own Linux kernel, with nothing behind them",
      ),
    },
  ),
  says(
    "proc/uevent-helper",
    "has the Linux kernel start a program of its own on the host for a device",
    `refused(lambda: os.open("/sys/kernel/uevent_helper", os.O_WRONLY))`,
    { ...readOnly, control: { none: "few Linux kernels are built with it" } },
  ),
  says(
    "proc/debug-file-systems",
    "reads the Linux kernel's debugging and tracing files",
    `reads("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/firmware", "/sys/kernel/notes")`,
    { ...masked, notTried: {}, weakness: "privileged", exceptions: shownInPods('read ["/sys/kernel/notes"]') },
  ),
  does(
    "proc/devices",
    "finds a device other than the usual ones",
    `
dangerous = ("mem", "kmem", "port", "kvm", "kmsg", "vhost-net", "vhost-vsock", "loop-control", "fuse", "input", "dri", "nvidia0", "mapper", "snd", "uinput", "vfio", "hpet", "nvram")
verdict = nothing(sorted(n for n in os.listdir("/dev") if stat.S_ISBLK(os.lstat("/dev/" + n).st_mode) or n in dangerous))`,
    {
      containedBy: { default: "a /dev of its own", wasm: "the interpreter has no devices" },
      weakness: "privileged",
      exceptions: except(
        "gvisor",
        'found ["fuse"]',
        "a device of gVisor's own Linux kernel, without the host's behind it",
      ),
    },
  ),
  says(
    "proc/mount-table",
    "reads names of the host in the mount table",
    `nothing([n for n in host["names"] if n in text_of("/proc/self/mountinfo", "/proc/1/mountinfo", "/proc/mounts")])`,
    {
      ...masked,
      containedBy: { default: "mounts from short paths without names" },
      exceptions: shownUnmasked("found"),
      weakness: "host-files",
    },
  ),
  says(
    "proc/engine-layers",
    "reads where a container engine keeps its layers",
    `nothing(["upperdir"] if "upperdir=" in text_of("/proc/self/mountinfo") else [])`,
    {
      ...masked,
      containedBy: { default: "no layers" },
      exceptions: { ...except("container", "found", layersShown), ...except("kubernetes", "found", layersShown) },
      control: { none: "this is what every container shows" },
    },
  ),
  says(
    "proc/control-group",
    "learns the path of its control group, which names services of the host",
    `nothing([line for line in text_of("/proc/self/cgroup").splitlines() if not __import__("re").match(r"/$|(/libpod_parent|/machine.slice)?/libpod-[0-9a-f]{64}(.scope)?$", line.split(":")[2])])`,
    {
      ...masked,
      // with cgroups v1, Podman makes no cgroup namespace: the container's own random id is visible
      containedBy: { default: "cgroup namespace" },
      exceptions: {
        ...shownUnmasked("found"),
        ...except(
          "kubernetes-gvisor",
          "found",
          "gVisor's own control groups: the random id of the pod's sandbox, and no path of the node",
        ),
      },
      weakness: "privileged",
    },
  ),
];
