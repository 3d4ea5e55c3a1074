import type { Attack } from "../attack.ts";
import { deniedFiles, obeyedFiles } from "../host/shown-directories.ts";
import { does, says } from "./make-attack.ts";
import { noSystemCalls } from "./shared-facts.ts";

const denied = {
  kind: "exfiltration",
  scenario: "mounts",
  containedBy: { default: "deny globs: covered by a file without permissions at the start of the cell" },
  weakness: "no-deny",
} as const;
const readOnly = {
  scenario: "mounts",
  containedBy: { default: "read-only mount" },
  weakness: "no-deny",
} as const;
const pinned = {
  scenario: "mounts",
  containedBy: { default: "deny globs: each cover and its directory is a mount of its own" },
  weakness: "no-deny",
} as const;

const python = (paths: readonly string[]) => `[${paths.map((path) => JSON.stringify(path)).join(", ")}]`;
const hidden = `denied = ${python(deniedFiles)}\nobeyed = ${python(obeyedFiles)}\n`;

/** Directories that the policy shows: what its deny globs hide in them, and what may not be changed. */
export const mountAttacks: readonly Attack[] = [
  does(
    "mounts/denied-files",
    "reads denied files in a read-only mount",
    `${hidden}verdict = reads(*["/data/" + name for name in denied])`,
    denied,
  ),
  does(
    "mounts/denied-files-writable",
    "reads denied files in a writable mount",
    `${hidden}verdict = reads(*["/shared/" + name for name in denied])`,
    denied,
  ),
  does(
    "mounts/spelling",
    "reads denied files by other spellings of their paths",
    `${hidden}
found = []
for root in ("/data", "/shared"):
    for name in denied:
        found += [root + "/./" + name, root + "//" + name, root + "/nested/../" + name, "/proc/self/root" + root + "/" + name,
                  "/proc/self/cwd/.." + root + "/" + name, root + "/" + name.upper(), "/workspace/.." + root + "/" + name]
verdict = reads(*found)`,
    denied,
  ),
  does(
    "mounts/by-descriptor",
    "opens denied files relative to a directory that it holds",
    `${hidden}
found = []
for root in ("/data", "/shared"):
    holder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    for name in denied:
        try: show(os.read(os.open(name, os.O_RDONLY, dir_fd=holder), 64)); found.append(name)
        except OSError: pass
    os.close(holder)
verdict = nothing(found, "read")`,
    denied,
  ),
  says(
    "mounts/link-to-denied",
    "follows a link of the host that leads to a denied file",
    `reads("/data/link-to-a-denied-file", "/shared/link-to-a-denied-file")`,
    denied,
  ),
  says(
    "mounts/link-to-outside",
    "follows a link of the host that leads out of the mount",
    `reads("/data/link-to-a-file", "/data/link-to-a-directory", "/data/link-to-a-directory/secret.txt", "/shared/link-to-a-file", "/shared/link-to-a-directory/secret.txt")`,
    { ...denied, containedBy: { default: "mount namespace: the link's target is not in it" }, weakness: "host-files" },
  ),
  does(
    "mounts/own-link",
    "makes a link to a denied file and follows it",
    `${hidden}
found = []
for index, name in enumerate(denied):
    path = "/shared/own-link-%d" % index
    os.symlink(name, path)
    try:
        if readable(path): show(read(path)); found.append(name)
    finally: os.remove(path)
verdict = nothing(found, "read")`,
    denied,
  ),
  does(
    "mounts/hard-link",
    "makes a hard link to a denied file and reads that",
    `${hidden}
found = []
for index, name in enumerate(denied):
    path = "/shared/hard-link-%d" % index
    try: os.link("/shared/" + name, path)
    except OSError: continue
    try:
        if readable(path): show(read(path)); found.append(name)
    finally: os.remove(path)
verdict = nothing(found, "read")`,
    denied,
  ),
  does(
    "mounts/rename-directory",
    "renames a directory to uncover the denied file in it",
    `
found = []
for name in (".ssh", ".aws", ".git", "nested", "nested/deep", "private", ".config", ".config/gh"):
    try: os.rename("/shared/" + name, "/shared/moved")
    except OSError: continue
    for directory, _, files in os.walk("/shared/moved"):
        for file in files:
            if readable(directory + "/" + file): show(read(directory + "/" + file)); found.append(name + "/" + file)
    os.rename("/shared/moved", "/shared/" + name)
verdict = nothing(found, "read")`,
    { ...pinned, kind: "exfiltration", needsOwnCell: true },
  ),
  does(
    "mounts/exchange",
    "exchanges a denied file with one of its own",
    `
import ctypes
libc, found = ctypes.CDLL(None, use_errno=True), []
open("/shared/mine", "w").close()
for name in (".env", ".npmrc", "server.pem"):
    if libc.renameat2(-100, b"/shared/mine", -100, b"/shared/" + name.encode(), 2) == 0:
        if readable("/shared/mine"): show(read("/shared/mine"))
        libc.renameat2(-100, b"/shared/mine", -100, b"/shared/" + name.encode(), 2)
        found.append(name)
os.remove("/shared/mine")
verdict = nothing(found, "exchanged")`,
    { ...pinned, needsOwnCell: true, notTried: noSystemCalls },
  ),
  does(
    "mounts/remove-denied",
    "removes or overwrites a denied file in a writable mount",
    `${hidden}
verdict = first_of(*[lambda path="/shared/" + name: changes(path) for name in denied],
    *[lambda path="/shared/" + name: refused(lambda: os.unlink(path), "removed " + path) for name in denied])`,
    { ...pinned, needsOwnCell: true },
  ),
  does(
    "mounts/replace-denied",
    "replaces a denied file by a rename over it",
    `${hidden}
found = []
for name in denied + obeyed:
    with open("/shared/mine", "w") as file: file.write("mine")
    try: os.rename("/shared/mine", "/shared/" + name); found.append(name)
    except OSError: os.remove("/shared/mine")
verdict = nothing(found, "replaced")`,
    { ...pinned, needsOwnCell: true },
  ),
  does(
    "mounts/open-permissions",
    "gives itself permission to read a denied file",
    `${hidden}
for name in denied:
    for root in ("/data/", "/shared/"):
        try: os.chmod(root + name, 0o777)
        except OSError: pass
verdict = reads(*["/shared/" + name for name in denied], *["/data/" + name for name in denied])`,
    denied,
  ),
  does(
    "mounts/obeyed-files",
    "changes files that tools on the host obey: hooks, tasks, the policy itself",
    `${hidden}verdict = first_of(*[lambda path="/shared/" + name: changes(path) for name in obeyed],
    *[lambda path="/shared/" + name: refused(lambda: os.chmod(path, 0o777), "made executable " + path) for name in obeyed])`,
    { ...pinned, needsOwnCell: true },
  ),
  says(
    "mounts/write-read-only",
    "makes a file in a read-only mount",
    `writes("/data", "/data/nested", "/deps", "/data/.ssh", "/data/private")`,
    readOnly,
  ),
  does(
    "mounts/change-read-only",
    "changes a file in a read-only mount",
    `verdict = first_of(lambda: changes("/data/readme.txt"), lambda: changes("/deps/module.py"),
    lambda: refused(lambda: os.truncate("/data/readme.txt", 0), "truncated it"),
    lambda: refused(lambda: os.unlink("/data/readme.txt"), "removed it"),
    lambda: refused(lambda: os.rename("/data/readme.txt", "/data/other.txt"), "renamed it"))`,
    readOnly,
  ),
  does(
    "mounts/change-attributes",
    "changes times, permissions or attributes in a read-only mount",
    `verdict = first_of(lambda: refused(lambda: os.utime("/data/readme.txt", (0, 0)), "changed its time"),
    lambda: refused(lambda: os.chmod("/data/readme.txt", 0o777), "changed its permissions"),
    lambda: refused(lambda: os.setxattr("/data/readme.txt", "user.mark", b"x"), "changed its attributes"))`,
    { ...readOnly, notTried: noSystemCalls },
  ),
  does(
    "mounts/map-read-only",
    "changes a file of a read-only mount through a mapping",
    `
import mmap
def change():
    with open("/data/readme.txt", "r+b") as file, mmap.mmap(file.fileno(), 0) as view: view[0:1] = b"X"
verdict = refused(change, "changed it")`,
    readOnly,
  ),
  says(
    "mounts/remount-read-only",
    "makes a read-only mount writable",
    `first_of(lambda: blocked("mount", 0, b"/data", 0, 32 | 4096, 0), lambda: blocked("umount2", b"/data", 2), lambda: blocked("umount2", b"/data/.env", 2), lambda: blocked("umount2", b"/shared/.env", 2))`,
    {
      scenario: "mounts",
      containedBy: { default: "system call filter" },
      notTried: noSystemCalls,
      weakness: "privileged",
    },
  ),
  says(
    "mounts/above",
    "leaves a mount upwards to the directory that it comes from",
    `reads("/data/../secret.txt", "/data/../../outside/secret.txt", "/shared/../../outside/secret.txt", *[ "/data/.." + path for path in host["files"]])`,
    { ...denied, containedBy: { default: "mount namespace" }, weakness: "host-files" },
  ),
  does(
    "mounts/device-node",
    "makes a device node in a writable mount",
    `
found = []
for mode, device, name in ((0o60666, os.makedev(8, 0), "disk"), (0o20666, os.makedev(1, 1), "memory")):
    path = "/shared/" + name
    try: os.mknod(path, mode, device)
    except OSError: continue
    try: os.close(os.open(path, os.O_RDONLY)); found.append(name)
    except OSError: pass
    os.remove(path)
verdict = nothing(found, "opened")`,
    {
      scenario: "mounts",
      containedBy: { default: "no capability to make device nodes, mounts without devices" },
      notTried: noSystemCalls,
      weakness: "privileged",
    },
  ),
  does(
    "mounts/root-owned-program",
    "leaves a program in a writable mount that runs as root on the host",
    `
import shutil
shutil.copyfile("/usr/bin/id", "/shared/program")
try: os.chown("/shared/program", 0, 0)
except OSError: pass
os.chmod("/shared/program", 0o4755) # after chown, which clears this bit
info = os.stat("/shared/program")
os.remove("/shared/program")
verdict = unless(info.st_uid == 0 and info.st_mode & 0o4000, "it belongs to root")`,
    {
      scenario: "mounts",
      kind: "persistence",
      containedBy: { default: "unprivileged user of the host" },
      notTried: noSystemCalls,
      weakness: "privileged",
    },
  ),
];
