"""Forks that become children of the supervisor: user code that waits for its own children never sees them."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

import _ctypes

from ..shared.system import LIBC, prctl

PARENT, CHILD_SETTID, CHILD_CLEARTID, SIGCHLD = 0x8000, 0x01000000, 0x00200000, 17
PR_GET_TID_ADDRESS = 40
# machine: (number of clone, which of its last two arguments is the address of the thread id)
CLONE = {"x86_64": (56, 0), "aarch64": (220, 1)}
CDECL, KEEPS_LOCK = 1, 4


class Long(_ctypes._SimpleCData):
    _type_ = "l"


class Call(_ctypes.CFuncPtr):
    """A C function that is called without releasing the GIL."""

    _flags_ = CDECL | KEEPS_LOCK
    _restype_ = Long


class SingleFork:
    """Forks with one clone system call, bypassing the C library.

    The C library would repair locks of other threads and refresh its cached thread id. So this works only in a process
    without other threads, and only if the OS refreshes the thread id.
    """

    def __init__(self, clone_number, place, address):
        last = [Long(0), Long(0)]
        last[place] = Long(address)
        flags = PARENT | CHILD_SETTID | CHILD_CLEARTID | SIGCHLD
        self.arguments = (Long(clone_number), Long(flags), Long(0), Long(0), *last)
        self.clone = function("syscall")
        self.before = function("PyOS_BeforeFork")
        self.in_parent = function("PyOS_AfterFork_Parent")
        self.in_child = function("PyOS_AfterFork_Child")

    def __call__(self):
        self.before()
        pid = self.clone(*self.arguments)
        if pid == 0:
            self.in_child()
        else:
            self.in_parent()
        if pid < 0:
            raise OSError(0, "the process or memory limit is reached")
        return pid


def single_fork():
    """A SingleFork, or None if this machine does not support it."""
    number, place = CLONE.get(posix.uname().machine, (0, 0))
    address = thread_number_address()
    return SingleFork(number, place, address) if number and address else None


def thread_number_address():
    """Where the C library keeps the thread id, or 0 if the OS does not say."""
    address = Long(0)
    return address.value if prctl(PR_GET_TID_ADDRESS, _ctypes.byref(address)) == 0 else 0


class SiblingFork:
    def __init__(self):
        self.is_prepared = False
        self.once = None

    def __call__(self):
        """(0, forks) in the new process and (a true value, forks) in the old one. `forks` is the number of forks used."""
        if not self.is_prepared:
            self.is_prepared = True
            self.once = single_fork()
        if self.once is not None and is_only_thread():
            return self.once(), 1
        return fork_twice(), 2


def function(name):
    return Call(_ctypes.dlsym(LIBC, name))


def is_only_thread():
    try:
        return posix.stat("/proc/self/task").st_nlink == 3
    except OSError:
        return False


def fork_twice():
    """The process in between exits at once, so that its child is reparented to the supervisor."""
    supervisor = posix.getppid()
    middle = quiet_fork()
    if middle != 0:
        _, status = posix.waitpid(middle, 0)
        if status != 0:
            raise OSError(0, "the process or memory limit is reached")
        return middle
    try:
        if quiet_fork() != 0:
            posix._exit(0)
    except OSError:
        posix._exit(1)
    while posix.getppid() != supervisor:
        posix.sched_yield()
    return 0


def quiet_fork():
    """fork() without the warning that newer Python versions print if user code has threads."""
    import _warnings

    quiet = ("ignore", None, Warning, None, 0)
    _warnings.filters.insert(0, quiet)
    try:
        return posix.fork()
    finally:
        if quiet in _warnings.filters:
            _warnings.filters.remove(quiet)
