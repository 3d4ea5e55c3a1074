"""Turns a fresh child of the template into pid 1 of a cell: namespaces, mounts, capabilities, system call filter."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import ctypes
import errno
import fcntl
import os
import socket
import struct

from ..shared.system import filter_pointer, set_dumpable
from ..supervisor.watched_limits import TERMINALS
from .limits import set_limits
from .memory_files import mount_table, unescaped

LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NAMESPACES = (
    0x10000000  # user
    | 0x20000000  # pid
    | 0x00020000  # mount
    | 0x40000000  # net
    | 0x08000000  # ipc
    | 0x04000000  # uts
    | 0x02000000  # cgroup
)
READ_ONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 2, 4, 8, 32, 4096, 16384, 1 << 18
PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
SIOCSIFFLAGS, UP_LOOPBACK_RUNNING = 0x8914, 0x49
SYS_MOVE_MOUNT, MOVE_MOUNT_F_EMPTY_PATH, AT_FDCWD = 429, 4, -100
CELL_UID = 1000
EMPTY_FILE, EMPTY_DIRECTORY = "/.empty-file", "/.empty-directory"
CLOSED_FILE, CLOSED_DIRECTORY = "/.closed-file", "/.closed-directory"


def check(result, what):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s: %s" % (what, os.strerror(number)))


def write_file(path, text):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [value and os.fsencode(value) for value in (source, target, kind, data)]
    check(LIBC.mount(encoded[0], encoded[1], encoded[2], flags, encoded[3]), "mount " + target)


def move_mount(descriptor, target):
    """Attaches a mount that the host has passed by its descriptor: this mount namespace has never seen its path."""
    path = os.fsencode(target)
    check(LIBC.syscall(SYS_MOVE_MOUNT, descriptor, b"", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH), "move_mount " + target)


def bind(source, target, flags):
    """The flags of a bind mount need a second call. Recursive, because Linux refuses a bind that drops locked mounts."""
    mount(source, target, None, BIND | RECURSIVE)
    mount(None, target, None, BIND | REMOUNT | flags)


def join_cgroups(files):
    """Called before the cgroup namespace is created, so that /proc/self/cgroup shows only '/'."""
    for path in files:
        write_file("/run/cg/" + path, "0")


def switch_user(uid):
    """To the cell's own uid on the host. The capabilities for that are gone with `unshare`: they are those of the template."""
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    set_dumpable(1)  # Linux closes /proc/self/uid_map to a process that has changed its uid


def unshare():
    uid, gid = os.getuid(), os.getgid()
    check(LIBC.unshare(NEW_NAMESPACES), "unshare")
    write_file("/proc/self/setgroups", "deny")
    write_file("/proc/self/uid_map", "%d %d 1" % (CELL_UID, uid))
    write_file("/proc/self/gid_map", "%d %d 1" % (CELL_UID, gid))


def enter(cell):
    """Runs in the new pid 1. The order matters: mounts need the capabilities that are dropped at the end."""
    mount(None, "/", None, RECURSIVE | PRIVATE)
    mount("proc", "/proc", "proc", NOSUID | NODEV | NOEXEC)
    write_file("/proc/sys/user/max_user_namespaces", "0")
    bind("/proc/sys", "/proc/sys", READ_ONLY | NOSUID | NODEV | NOEXEC)
    for path in cell["maskFiles"]:
        mount(EMPTY_FILE, path, None, BIND)
    for path in cell["maskDirs"]:
        mount(EMPTY_DIRECTORY, path, None, BIND)
    # Covers the template's own /tmp too: no cell sees what preloaded modules wrote there.
    for target, size in (("/tmp", cell["tmpBytes"]), ("/dev/shm", cell["shmBytes"])):
        mount("tmpfs", target, "tmpfs", NOSUID | NODEV, "mode=1777,size=%d,nr_inodes=8192" % size)
    for name in cell["temporary"]:  # preloaded modules remember these directories, as matplotlib does that of its caches
        os.mkdir("/tmp/" + name, 0o700)
    # All cells and containers share a few thousand terminals, which one cell could use up.
    mount("devpts", "/dev/pts", "devpts", NOSUID | NOEXEC, "newinstance,ptmxmode=0666,mode=620,max=%d" % TERMINALS)
    if not any(one["target"] == "/workspace" for one in cell["mounts"]):
        mount("tmpfs", "/workspace", "tmpfs", NOSUID | NODEV, "mode=755,size=%d,nr_inodes=16384" % cell["diskBytes"])
    for one in cell["mounts"]:
        place(one)
    # Hides the template's socket, staging directories and cgroup binds, and its view of /sys.
    for target in ("/run", "/sys"):
        if os.path.isdir(target):
            mount("tmpfs", target, "tmpfs", NOSUID | NODEV | READ_ONLY, "size=4k,nr_inodes=4,mode=555")
    loopback_up()
    socket.sethostname("cell")
    os.chdir("/workspace")
    drop_capabilities()
    set_limits(cell)


def place(one):
    """Mounts a host directory at its target. Covers denied entries with a file or directory that cannot be opened."""
    if "descriptor" in one:  # the session's own file system, which nobody else can have changed
        move_mount(one["descriptor"], one["target"])
        return
    flags = NOSUID | NODEV | (READ_ONLY if one["readOnly"] else 0)
    source = "/run/m/" + one["stage"]
    check_identity(source, one.get("identity"))
    make_mount_point(source, one["target"])
    # Stops an attack with a symlink that an earlier session left in its workspace: a mount on it would cover system files.
    if os.path.realpath(one["target"]) != one["target"]:
        raise OSError("a symlink is in the way of the mount at %s" % one["target"])
    bind(source, one["target"], flags)
    if one["readOnly"]:
        close_below(one["target"])
    for pin in one["pins"]:
        mount(one["target"] + "/" + pin, one["target"] + "/" + pin, None, BIND | RECURSIVE)
    for denied in one["deny"]:
        cover = CLOSED_DIRECTORY if denied["kind"] == "directory" else CLOSED_FILE
        mount(cover, one["target"] + "/" + denied["path"], None, BIND)


def close_below(target):
    """Makes nested mounts read-only too: the host may have added one after the template started."""
    for fields in mount_table():
        path, options = unescaped(fields[4]), fields[5].split(",")
        if not path.startswith(target + "/") or "ro" in options:
            continue
        try:
            mount(None, path, None, BIND | REMOUNT | READ_ONLY | NOSUID | NODEV | (NOEXEC if "noexec" in options else 0))
        except OSError as error:
            # covered by another mount, or closed to the cell: unreachable from in here
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EINVAL, errno.EACCES):
                raise


def check_identity(path, expected):
    """Detects a directory that was swapped after the host checked it."""
    found = os.stat(path)
    if expected is not None and "%d:%d" % (found.st_dev, found.st_ino) != expected:
        raise OSError("a mounted directory was replaced by another one")


def make_mount_point(source, target):
    """Needed below /workspace and /tmp, which belong to this cell. The template has created all others."""
    if os.path.lexists(target):
        return
    if os.path.isdir(source):
        os.makedirs(target)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def loopback_up():
    with socket.socket() as probe:
        fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", UP_LOOPBACK_RUNNING))


def drop_capabilities():
    for capability in range(64):
        if LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    check(LIBC.capset(struct.pack("Ii", 0x20080522, 0), bytes(24)), "capset")
    check(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def apply_filter(program):
    """The last step: from here on the cell's filter also applies to the supervisor itself."""
    check(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_pointer(program), 0, 0), "seccomp")
