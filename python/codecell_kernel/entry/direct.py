"""Entry of the process runner's direct layout: bubblewrap has created the cell, and this process is its pid 1."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import sys

from ..shared.lean_json import loads
from ..shared.system import add_filter, set_dumpable
from ..measure.socket_memory import open_socket_memory
from ..supervisor.supervisor import Supervisor
from ..worker.worker import main as run_worker
from .limits import set_limits

CHANNEL, MESSAGES = 4, 5


def main():
    """The channel is an inherited descriptor. The last argument holds the limits."""
    cell = loads(sys.argv[-1])
    posix.closerange(3, CHANNEL)
    # Node passes on inherited descriptors, and bubblewrap does not close them
    posix.closerange(MESSAGES + 1 if "ticket" in cell else CHANNEL + 1, 1 << 16)
    posix.set_inheritable(CHANNEL, False)
    null = posix.open("/dev/null", posix.O_RDWR)
    for fd in (0, 1, 2):
        posix.dup2(null, fd)
    for one in cell["identities"]:
        found = posix.stat(one["target"])
        if "%d:%d" % (found.st_dev, found.st_ino) != one["identity"]:
            posix._exit(5)  # the directory was swapped after the host checked it
    set_limits(cell)
    sockets = open_socket_memory()
    if not add_filter(bytes.fromhex(cell["filter"])):
        posix._exit(6)
    set_dumpable(0)
    Supervisor(CHANNEL, run_worker, read_filter(), listener=open_listener(cell), sockets=sockets).main()


def open_listener(cell):
    """Imported only if the policy allows a network: every import slows down a cold start."""
    if "ticket" not in cell:
        return None
    from ..supervisor.handover import listen_for_host

    return listen_for_host(MESSAGES, cell["ticket"])


def read_filter():
    fd = posix.open("/.kernel/notify.bpf", posix.O_RDONLY)
    try:
        return posix.read(fd, 1 << 16)
    finally:
        posix.close(fd)
