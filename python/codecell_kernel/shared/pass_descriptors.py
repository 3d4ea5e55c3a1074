"""Sends descriptors over a Unix socket, however many of them wait in the sockets of the same user.

The Linux kernel refuses to send one (ETOOMANYREFS) while its user has more descriptors in flight than the sender may have open.
The count is one per user, so a program that leaves a thousand in a socket's queue would stop its supervisor and, if cells share a
user, every other cell. But the limit is that of the sender. Programs have a lower one than the kernel's own processes, so they
cannot reach it.
"""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import resource

import _socket


def pass_descriptors(end, data, descriptors, flags=0):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        packed = b"".join(fd.to_bytes(4, "little") for fd in descriptors)
        end.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)], flags)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def give_up_headroom():
    """Called before user code runs: from here on, this process and all it starts have the policy's limit."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
