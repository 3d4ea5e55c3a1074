"""Forks whose parent is the supervisor: user code that waits for its children never meets them."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

import _ctypes

from ..shared.system import LIBC, prctl

PARENT, CHILD_SETTID, CHILD_CLEARTID, SIGCHLD = 0x8000, 0x01000000, 0x00200000, 17
PR_GET_TID_ADDRESS = 40
# number of clone, and where the address of the thread's number goes among its last two arguments
CLONE = {"x86_64": (56, 0), "aarch64": (220, 1)}
CDECL, KEEPS_LOCK = 1, 4


class Long(_ctypes._SimpleCData):
    _type_ = "l"


class Call(_ctypes.CFuncPtr):
    """A C function that is called without letting go of the interpreter's lock."""

    _flags_ = CDECL | KEEPS_LOCK
    _restype_ = Long


class SingleFork:
    """One clone. It goes past the C library, which would have the locks of other threads to mend, and its memory of the
    thread's number to refresh: so it needs a process without other threads, and a kernel that refreshes the number.
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
            raise OSError(0, "no room for another process")
        return pid


def single_fork():
    """How to fork once here, or None where it cannot be done."""
    number, place = CLONE.get(posix.uname().machine, (0, 0))
    address = thread_number_address()
    return SingleFork(number, place, address) if number and address else None


def thread_number_address():
    """Where the C library keeps the thread's number, or 0 where the kernel does not tell."""
    address = Long(0)
    return address.value if prctl(PR_GET_TID_ADDRESS, _ctypes.byref(address)) == 0 else 0


class SiblingFork:
    def __init__(self):
        self.is_prepared = False
        self.once = None

    def __call__(self):
        """(0, forks) in the new process and (a true value, forks) in the old one, where `forks` is how many it took."""
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
    """The one in the middle ends at once, and its child becomes the supervisor's."""
    supervisor = posix.getppid()
    middle = quiet_fork()
    if middle != 0:
        _, status = posix.waitpid(middle, 0)
        if status != 0:
            raise OSError(0, "no room for another process")
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
    """fork() without the warning that newer Pythons print when user code has threads."""
    import _warnings

    quiet = ("ignore", None, Warning, None, 0)
    _warnings.filters.insert(0, quiet)
    try:
        return posix.fork()
    finally:
        if quiet in _warnings.filters:
            _warnings.filters.remove(quiet)
