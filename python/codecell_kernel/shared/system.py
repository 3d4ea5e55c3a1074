"""System calls that the standard library lacks, using only _ctypes: importing `ctypes` takes 5 ms."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from _struct import Struct

import _ctypes

LIBC = _ctypes.dlopen(None, 2)
PR_SET_DUMPABLE, PR_SET_NAME, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 4, 15, 22, 38
FILTER_HEADER = Struct("HxxxxxxQ")
SECCOMP = {"x86_64": 317, "aarch64": 277}  # the number of the system call
MODE_FILTER, SET_MODE_FILTER, NEW_LISTENER = 2, 1, 8
WAIT_KILLABLE_RECV = 32  # since Linux 5.19


def symbol(name):
    return _ctypes.dlsym(LIBC, name)


PRCTL = symbol("prctl")
CONTENT_OFFSET = bytes.__basicsize__ - 1  # CPython stores the content after the object's header, then a zero byte


def address_of(data):
    """The address of a bytes object's content, for structs with a pointer. The object must outlive the struct."""
    return id(data) + CONTENT_OFFSET


def filter_pointer(program):
    """struct sock_fprog over the bytes of a system call filter; the caller keeps the bytes."""
    return FILTER_HEADER.pack(len(program) // 8, address_of(program))


def add_filter(program):
    """Adds a system call filter to this process and all it starts. False if that is impossible."""
    return prctl(PR_SET_NO_NEW_PRIVS, 1) >= 0 and prctl(PR_SET_SECCOMP, MODE_FILTER, filter_pointer(program)) >= 0


def add_reporting_filter(program):
    """Adds a filter that reports calls to a listener. Returns the listener's descriptor, or -1 if that is impossible.

    Without WAIT_KILLABLE_RECV, any signal that has a handler ends a reported call with EINTR, even after the listener has read
    the report. Programs do not expect that of kill(2). SIGKILL still ends the wait, so a listener cannot make its caller
    unkillable.
    """
    number = SECCOMP.get(posix.uname().machine)
    if number is None:
        return -1
    for flags in (NEW_LISTENER | WAIT_KILLABLE_RECV, NEW_LISTENER):
        fd = _ctypes.call_function(symbol("syscall"), (number, SET_MODE_FILTER, flags, filter_pointer(program)))
        if fd >= 0:
            break
    return fd


def prctl(option, value=0, third=0):
    return _ctypes.call_function(PRCTL, (option, value, third, 0, 0))


def set_dumpable(value):
    """0 closes /proc/PID/{mem,fd,environ,…}, ptrace and pidfd_getfd to other processes of the same uid."""
    prctl(PR_SET_DUMPABLE, value)


def set_name(name):
    prctl(PR_SET_NAME, name + b"\0")


def set_oom_score(value):
    """1000 makes this process the OOM killer's first choice. The file is writable only while dumpable."""
    set_dumpable(1)
    try:
        fd = posix.open("/proc/self/oom_score_adj", posix.O_WRONLY)
        try:
            posix.write(fd, str(value).encode())
        finally:
            posix.close(fd)
    except OSError:
        pass


def close_all_but(kept):
    for name in posix.listdir("/proc/self/fd"):
        fd = int(name)
        if fd not in kept:
            try:
                posix.close(fd)
            except OSError:
                pass
