import type { Attack } from "../attack.ts";
import { does, says } from "./make-attack.ts";
import { byFilter, byMounts, byReadOnly, except, inMemory, noProc, noSystemCalls } from "./shared-facts.ts";

const stolen = { kind: "exfiltration", containedBy: byMounts, weakness: "host-files" } as const;
const reached = { containedBy: byMounts, weakness: "host-files" } as const;

const systemPaths: readonly (readonly [id: string, what: string, ...paths: string[]])[] = [
  ["accounts", "the password hashes of the host", "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers"],
  ["root-home", "the home directory of root", "/root"],
  ["boot", "the host's boot files", "/boot"],
  ["ssh-host-keys", "the host's SSH keys", "/etc/ssh", "/etc/ssh/ssh_host_ed25519_key"],
  ["system-logs", "the host's logs and mail", "/var/log", "/var/mail"],
  [
    "service-state",
    "the state of the host's services",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/run/systemd",
    "/run/dbus",
  ],
  ["other-disks", "other disks of the host", "/mnt", "/media", "/srv"],
];

const notWritable = [
  "/",
  "/usr",
  "/usr/bin",
  "/usr/lib",
  "/etc",
  "/deps",
  "/.kernel",
  "/run",
  "/var",
  "/var/tmp",
  "/opt",
  "/proc",
];
const madeInMemory = ["/", "/usr", "/usr/lib", "/deps", "/proc"];

/** Names for paths in ids: `/usr/bin` is `usr-bin`. */
function word(path: string): string {
  return path === "/" ? "root" : path.replace(/^\/\.?/, "").replaceAll("/", "-");
}

/** The host's files, when no policy mounts any. */
export const hostFileAttacks: readonly Attack[] = [
  says("files/host-secret", "reads files of the host by their paths", `reads(*host["files"])`, stolen),
  says("files/host-directory", "lists directories of the host", `reads(*host["directories"])`, stolen),
  does(
    "files/host-overwrite",
    "overwrites files of the host that everybody may write",
    `verdict = first_of(*[lambda path=path: changes(path) for path in host["writables"]])`,
    reached,
  ),
  says(
    "files/host-create",
    "makes files in directories of the host that everybody may write",
    `writes(*host["directories"])`,
    reached,
  ),
  does(
    "files/host-remove",
    "removes files of the host",
    `verdict = first_of(*[lambda path=path: refused(lambda: os.unlink(path), "removed " + path) for path in host["writables"]])`,
    reached,
  ),
  does(
    "files/host-rename",
    "renames directories of the host",
    `verdict = first_of(*[lambda path=path: refused(lambda: os.rename(path, path + ".moved"), "renamed " + path) for path in host["writables"]])`,
    reached,
  ),
  ...systemPaths.map(([id, what, ...paths]) =>
    says(`files/${id}`, `reads ${what}`, `reads(${paths.map((path) => JSON.stringify(path)).join(", ")})`, {
      ...stolen,
      control: { none: "a container has its own, and the control mounts none of the host's" },
    }),
  ),
  says("files/home", "lists the home directories of the host", `reads("/home")`, {
    ...stolen,
    exceptions: inMemory("read"),
    control: { none: "a container has its own, and the control mounts none of the host's" },
  }),
  says("files/runtime-directory", "reads codecell's own directory of sockets", `reads("/run/codecell", "/run/user")`, {
    ...stolen,
    exceptions: except("srt", 'read ["/run/codecell"]', "only the cell's own kernel and workspace are mounted there"),
    control: { none: "a container has its own, and the control mounts none of the host's" },
  }),
  says(
    "files/engine-socket",
    "finds the socket of a container engine, which makes anybody root",
    `nothing([p for p in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock", "/run/crio/crio.sock") if os.path.exists(p)])`,
    { ...reached, control: { none: "no test gives an engine's socket to any container" } },
  ),
  ...notWritable.map((path) =>
    says(`files/write-${word(path)}`, `writes to ${path}`, `writes(${JSON.stringify(path)})`, {
      containedBy: byReadOnly,
      weakness: "privileged",
      exceptions: {
        ...(madeInMemory.includes(path) ? inMemory("wrote to") : {}),
        ...except("srt", "wrote to", "an empty file system in memory that only the cell has"),
      },
    }),
  ),
  does(
    "files/symlink",
    "follows a symlink from its workspace to a file of the host",
    `
os.symlink(host["file"], "/workspace/out")
try: verdict = reads("/workspace/out")
finally: os.remove("/workspace/out")`,
    stolen,
  ),
  does(
    "files/symlink-directory",
    "lists a directory of the host through a symlink in its workspace",
    `
os.symlink(os.path.dirname(host["file"]), "/workspace/outside")
try: verdict = reads("/workspace/outside", "/workspace/outside/secret.txt")
finally: os.remove("/workspace/outside")`,
    stolen,
  ),
  says(
    "files/dot-dot",
    "leaves its root by going up further than there are directories",
    `reads(*["/workspace" + "/.." * 40 + path for path in host["files"]])`,
    stolen,
  ),
  ...(
    ["/proc/self/root", "/proc/1/root", "/proc/1/cwd", "/proc/self/cwd/../..", "/proc/thread-self/root"] as const
  ).map((root) =>
    says(
      `files/through-${word(root).replaceAll("-..", "").replaceAll("..", "up")}`,
      `reads files of the host through ${root}`,
      `reads(*["${root}" + path for path in host["files"]])`,
      { ...stolen, notTried: noProc },
    ),
  ),
  does(
    "files/inherited-descriptors",
    "leaves its root through a descriptor that it inherited",
    `
found = []
for name in os.listdir("/proc/self/fd"):
    for start in (".", "..", "../../../../../.."):
        try: fd = os.open(start, os.O_RDONLY | os.O_DIRECTORY, dir_fd=int(name))
        except OSError: continue
        for path in host["files"]:
            try: found.append([os.readlink("/proc/self/fd/" + name), len(os.read(os.open(path.lstrip("/"), os.O_RDONLY, dir_fd=fd), 64))])
            except OSError: pass
        os.close(fd)
verdict = nothing(found, "left through")`,
    { ...reached, notTried: noProc },
  ),
  does(
    "files/chroot-and-back",
    "leaves its root by changing it twice",
    `
def leave():
    os.makedirs("/tmp/jail", exist_ok=True)
    root = os.open("/", os.O_RDONLY)
    os.chroot("/tmp/jail"); os.fchdir(root)
    for _ in range(40): os.chdir("..")
    os.chroot(".")
    return [read(path) for path in host["files"]]
verdict = refused(leave, "changed its root")`,
    { containedBy: byFilter, weakness: "privileged", notTried: noSystemCalls, needsOwnCell: true },
  ),
  does(
    "files/search",
    "searches every file that it can open for the host's secret",
    `
needle, found, opened = "".join(host["needle"]).encode(), [], 0
for root in ("/etc", "/root", "/home", "/tmp", "/var", "/run", "/dev", "/opt", "/srv", "/mnt", "/media", "/workspace", "/.kernel", "/deps",
             "/proc/1", "/proc/self", "/proc/sys", "/proc/fs", "/proc/tty"):
    for directory, names, files in os.walk(root, onerror=lambda error: None):
        if directory.count("/") > 8 or opened > 20000: names.clear()
        for name in files:
            path = directory + "/" + name
            if path.endswith("/mem") or "kmsg" in path or "/task/" in path: continue
            try: fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
            except OSError: continue
            try:
                data = os.read(fd, 1 << 16)
                opened += 1
                at = data.find(needle)
                if at >= 0: show(data[at:at + 64]); found.append(path)
            except OSError: pass
            finally: os.close(fd)
verdict = "contained" # the host looks for its secret in what was shown`,
    { ...stolen, timeoutMs: 20_000 },
  ),
  says(
    "files/hard-link",
    "makes a hard link to a program of the host in its workspace",
    `refused(lambda: os.link("/usr/bin/env", "/workspace/env"))`,
    {
      containedBy: { default: "different mounts" },
      notTried: { wasm: "there are no hard links" },
      control: { none: "programs of a container are not the host's" },
    },
  ),
  does(
    "files/disk-device",
    "opens a disk of the host through a device node that it made",
    `verdict = refused(lambda: (os.mknod("/tmp/disk", 0o60600, os.makedev(8, 0)), os.open("/tmp/disk", os.O_RDONLY)), "opened a disk")`,
    {
      containedBy: { default: "no capability to make device nodes, mounts without devices" },
      notTried: noSystemCalls,
      control: { none: "the disk of a machine has no certain number" },
    },
  ),
  does(
    "files/memory-device",
    "opens the machine's memory through a device node that it made",
    `verdict = refused(lambda: (os.mknod("/tmp/memory", 0o20600, os.makedev(1, 1)), os.open("/tmp/memory", os.O_RDONLY)), "opened the memory")`,
    {
      containedBy: { default: "no capability to make device nodes, mounts without devices" },
      notTried: noSystemCalls,
      weakness: "privileged",
    },
  ),
];
