"""Entry in a container: the engine has created the cell, and this process is its pid 1. Frames go over its stdio."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import gc
import posix
import sys

import _signal
import _socket

from ..shared.lean_json import loads

CHANNEL, ANSWERS = 3, 4
PR_SET_SECCOMP, MODE_FILTER, PR_SET_NO_NEW_PRIVS = 22, 2, 38


def main():
    """The last argument holds the limits."""
    gc.disable()  # everything loaded here stays: collecting garbage would be wasted time
    posix.dup2(0, CHANNEL, False)
    posix.dup2(1, ANSWERS, False)  # kept open even if unused: engines drop a stream that has ended
    posix.closerange(ANSWERS + 1, 1 << 16)
    null = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(null, 0)
    posix.dup2(null, 1)
    cell = loads(sys.argv[-1])
    is_connected = connect_host(cell["socket"])
    # imported after connecting, so that the host's first message arrives meanwhile
    from ..shared.system import set_dumpable
    from ..measure.socket_memory import open_socket_memory
    from ..supervisor.supervisor import Supervisor
    from ..worker.worker import main as run_worker
    from .limits import set_limits

    check_targets(cell["targets"])
    check_identities(cell["identities"])
    check_nested(cell["nested"])
    check_room(cell.get("roomBytes"))
    posix.chdir("/workspace")
    if cell["writes"] and not posix.access("/workspace", posix.W_OK):
        posix.write(2, b"/workspace is not writable. Under Podman, the image's own /workspace needs mode 1777\n")
        posix._exit(7)
    set_limits(cell)
    set_dumpable(0)
    if not cell["guard"]:
        # gVisor sends SIGHUP to a stopped process when a child exits, as if its group had lost the terminal. The worker
        # is stopped while its leftover processes are killed, and would die of that signal.
        _signal.signal(_signal.SIGHUP, _signal.SIG_IGN)
    sockets = open_socket_memory() if cell["guard"] else None
    add_filter(cell["filter"])
    notify_filter = read_file("/.kernel/notify.bpf") if cell["guard"] else b""
    posix.dup2(null, 2)  # up to here, errors go to the engine's log
    gc.freeze()  # copies of the interpreter share these pages as long as the collector does not touch them
    gc.enable()
    Supervisor(CHANNEL, run_worker, notify_filter, None if is_connected else ANSWERS, sockets=sockets).main()


def check_room(room):
    """Detects an engine in another mount namespace: it would mount the host's directory, and not the disk that is mounted there."""
    if room is None:
        return
    found = posix.statvfs("/workspace")
    if found.f_bavail * found.f_frsize > room:
        posix.write(2, b"/workspace has no limit of its own: the engine does not see the disk of the session\n")
        posix._exit(7)


def connect_host(path):
    """Tries to use the host's socket as the channel, bypassing the engine. Not possible if the engine is on another machine."""
    if not path:
        return False
    end = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        end.connect(path)
    except OSError:
        end.close()
        return False
    fd = end.detach()
    posix.dup2(fd, CHANNEL, False)
    posix.close(fd)
    return True


def check_targets(targets):
    """Stops an attack with a symlink that an earlier session left in its workspace: a mount on it would cover system files."""
    for target in targets:
        end = target.find("/", 1)
        while True:
            part = target if end < 0 else target[:end]
            if posix.lstat(part).st_mode & 0o170000 == 0o120000:
                posix.write(2, b"a symlink is in the way of a mount\n")
                posix._exit(5)
            if end < 0:
                break
            end = target.find("/", end + 1)


def check_identities(identities):
    """Detects a directory that was swapped after the host checked it."""
    for one in identities:
        found = posix.stat(one["target"])
        if "%d:%d" % (found.st_dev, found.st_ino) != one["identity"]:
            posix.write(2, b"a mounted directory was replaced by another one\n")
            posix._exit(5)


def check_nested(nested):
    """The same for nested mounts. Their paths may be closed to the cell, but the mount table is readable."""
    if not nested:
        return
    from .memory_files import mount_table, unescaped

    found = {unescaped(fields[4]): fields[2] + " " + unescaped(fields[3]) for fields in mount_table()}
    for one in nested:
        if found.get(one["target"]) != one["identity"]:
            posix.write(2, b"a nested mount was replaced by another one\n")
            posix._exit(5)


def add_filter(name):
    """Adds codecell's filter to the engine's. From here on it also applies to the supervisor itself."""
    if not name:
        return
    from ..shared.system import filter_pointer, prctl

    program = read_file("/.kernel/" + name)
    pointer = filter_pointer(program)
    if prctl(PR_SET_NO_NEW_PRIVS, 1) < 0 or prctl(PR_SET_SECCOMP, MODE_FILTER, pointer) < 0:
        posix.write(2, b"the system call filter could not be installed\n")
        posix._exit(6)


def read_file(path):
    fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        return posix.read(fd, 1 << 16)
    finally:
        posix.close(fd)
