"""Entry under sandbox-runtime, which has created the cell: this process is the only child of the cell's pid 1.

It sets up what the Linux kernel gives a pid 1 for free: orphans are reparented to this process, and a filter and the kill
guard keep user code from stopping it.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import sys

from ..shared.lean_json import loads
from ..shared.system import PR_SET_NO_NEW_PRIVS, add_filter, prctl, set_dumpable
from ..supervisor import supervisor
from ..measure.socket_memory import open_socket_memory
from ..supervisor.watched_limits import WatchedLimits
from ..worker.worker import main as run_worker
from .landlock import directories_in, open_below
from .limits import set_limits
from .memory_files import MemoryFiles

CHANNEL = 3
PID = 2  # the filter protects the supervisor by this pid
PR_SET_CHILD_SUBREAPER = 36


def main():
    """The last argument holds the limits. Until the supervisor starts, errors go to the host over standard error."""
    cell = loads(sys.argv[-1])
    if posix.getpid() != PID or posix.getuid() == 0:
        fail(b"sandbox-runtime started the cell with an unexpected pid or as root\n")
    posix.closerange(CHANNEL + 1, 1 << 16)
    posix.set_inheritable(CHANNEL, False)
    for one in cell["identities"]:
        found = posix.stat(one["path"])
        if "%d:%d" % (found.st_dev, found.st_ino) != one["identity"]:
            fail(b"a directory was replaced after the host checked it\n")
    for path in cell["denied"]:
        close_directory(path)
    posix.chdir(cell["workspace"])
    posix.setsid()  # out of reach of kill(0) and of process groups
    supervisor.WORKSPACE = cell["workspace"]
    set_limits(cell)
    set_dumpable(0)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    # The cell's root is the host's root, and only this hides directories that the host adds there later.
    open_below(directories_in("/"))
    sockets = open_socket_memory()
    if not add_filter(bytes.fromhex(cell["filter"])):  # it adds to sandbox-runtime's, and binds the supervisor too
        fail(b"the system call filter could not be installed\n")
    if prctl(PR_SET_CHILD_SUBREAPER, 1) < 0:
        fail(b"this process cannot become a subreaper\n")
    memory_files = MemoryFiles([one["path"] for one in cell["identities"]], cell["diskBytes"])
    null = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(null, fd)
    SrtSupervisor(CHANNEL, bytes.fromhex(cell["guard"]), memory_files, sockets).main()


class SrtSupervisor(supervisor.Supervisor):
    def __init__(self, channel, notify_filter, memory_files, sockets):
        super().__init__(channel, run_worker, notify_filter, sockets=sockets)
        self.memory_files = memory_files

    def protects(self, caller, target):
        return target == PID or super().protects(caller, target)

    def watch_limits(self, config):
        self.watched = SrtLimits(self.branches, self.sweeper, config, self.sockets, self.memory_files)


class SrtLimits(WatchedLimits):
    """Also limits files in memory: sandbox-runtime sets no size limit for them, and they belong to no process."""

    def __init__(self, branches, sweeper, config, sockets, memory_files):
        super().__init__(branches, sweeper, config, sockets)
        self.memory_files = memory_files

    def look(self, active):
        super().look(active)
        if not self.memory_files.are_over():
            return
        if not active:
            posix._exit(7)  # no run is active that could be stopped for it
        active[-1].stopper.stop("out_of_memory", kill=True)


def close_directory(path):
    """sandbox-runtime covers a denied directory with an empty one in memory: listing it must fail, as for a denied file."""
    try:
        posix.chmod(path, 0)
    except OSError:
        pass  # it is empty, whatever its mode


def fail(reason):
    posix.write(2, reason)
    posix._exit(6)
