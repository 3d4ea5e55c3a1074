"""Entry in a pod of Kubernetes: this process is pid 1 of its container. Frames go over its standard streams.

It says nothing before the host does: whoever attaches to a pod sees nothing of what was printed before.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import gc
import posix
import sys

import _signal
import _socket

from ..shared.lean_json import loads

CHANNEL, ANSWERS, LOG = 3, 4, 5
TERMINATION_LOG = "/dev/termination-log"
NEW_USER, NEW_MOUNT, NEW_NET, NEW_CGROUP = 0x10000000, 0x00020000, 0x40000000, 0x02000000
LONGEST_LINE = 256
SYSLOG_READ_ALL = 3


def main():
    """The last argument holds the limits."""
    gc.disable()  # everything loaded here stays: collecting garbage would be wasted time
    posix.dup2(0, CHANNEL, False)
    posix.dup2(1, ANSWERS, False)
    posix.dup2(2, LOG, False)  # kept open: a runtime closes standard input for whoever attaches if a stream has ended
    posix.closerange(LOG + 1, 1 << 16)
    null = posix.open("/dev/null", posix.O_RDWR)
    posix.dup2(null, 0)
    posix.dup2(null, 1)
    cell = loads(sys.argv[-1])
    link = cell.get("link")
    try:
        if link is not None:
            from . import pod_link

            listener = pod_link.listen(link["port"])
        set_up(cell)
        from ..measure.socket_memory import open_socket_memory

        sockets = open_socket_memory() if cell["guard"] else None
        add_cell_filter(cell["filter"])
        notify_filter = read_file("/.kernel/notify.bpf") if cell["guard"] else b""
    except Exception as error:
        fail("%s: %s" % (type(error).__name__, error))
    posix.dup2(null, 2)  # up to here, errors go to the host
    if link is None:
        await_host()
        supervise(cell, notify_filter, sockets, ANSWERS, None)
    ours, theirs = socket_pair()
    relay = posix.fork()
    if relay == 0:
        posix.close(ours)
        posix.setsid()  # out of reach of kill(0) and of process groups
        pod_link.Link(listener, theirs, link.get("ticketHash"), link["patienceSeconds"]).run()
    posix.close(theirs)
    posix.close(listener)
    posix.dup2(ours, CHANNEL, False)
    posix.close(ours)
    supervise(cell, notify_filter, sockets, None, relay)


def supervise(cell, notify_filter, sockets, answers, relay):
    """Never returns."""
    from ..worker.worker import main as run_worker

    def run_own(*arguments):
        _signal.signal(_signal.SIGTERM, _signal.SIG_DFL)  # the handler is the supervisor's alone
        run_worker(*arguments)

    supervisor = pod_supervisor(cell, relay)(CHANNEL, run_own, notify_filter, answers, sockets=sockets)
    gc.freeze()  # copies of the interpreter share these pages as long as the collector does not touch them
    gc.enable()
    supervisor.main()


def socket_pair():
    one, other = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC, 0)
    return one.detach(), other.detach()


def set_up(cell):
    """Everything that needs to happen before the system call filter."""
    from ..shared.system import set_dumpable
    from .limits import set_limits

    # Linux ignores signals that pid 1 does not handle: without this, each deletion would wait for the grace period.
    _signal.signal(_signal.SIGTERM, lambda *_: posix._exit(0))
    if posix.getuid() == 0:
        fail("the cluster started the cell as root")
    check_os_kernel(cell.get("osKernel"))
    if cell.get("ownUsers"):
        check_own_users()
    if cell["network"] == "own-namespace":
        leave_network(cell.get("hidden"))
    check_room(cell.get("roomBytes"))
    posix.chdir("/workspace")
    if not posix.access("/workspace", posix.W_OK):
        fail("/workspace is not writable")
    set_limits(cell)
    set_dumpable(0)
    if not cell["guard"]:
        # gVisor sends SIGHUP to a stopped process when a child exits, see container.py
        _signal.signal(_signal.SIGHUP, _signal.SIG_IGN)


def leave_network(hidden):
    """Moves into namespaces of its own: a network with nothing but loopback, whatever the cluster's network allows, and mounts
    that hide what Kubernetes shows of the node. Under gVisor `hidden` is None: it shows nothing of the node, knows no control group
    namespaces, and its loopback is up from the beginning. The examiner tries the same namespaces."""
    from . import jail

    uid, gid = posix.getuid(), posix.getgid()
    namespaces = NEW_USER | NEW_NET | (0 if hidden is None else NEW_MOUNT | NEW_CGROUP)
    if jail.LIBC.unshare(namespaces) < 0:
        fail("the node does not allow a network namespace of the cell's own")
    jail.write_file("/proc/self/setgroups", "deny")
    jail.write_file("/proc/self/uid_map", "%d %d 1" % (uid, uid))
    jail.write_file("/proc/self/gid_map", "%d %d 1" % (gid, gid))
    if hidden is not None:
        jail.loopback_up()
        hide(hidden)
    jail.drop_capabilities()
    if interfaces() != ["lo"]:
        fail("the cell has a network")


def hide(paths):
    """Covers files with the empty device and directories with an empty file system."""
    from . import jail

    jail.mount(None, "/", None, jail.RECURSIVE | jail.PRIVATE)
    for path in paths:
        try:
            is_directory = posix.stat(path).st_mode & 0o170000 == 0o040000
        except OSError:
            continue  # this Linux kernel does not have it
        if is_directory:
            flags = jail.NOSUID | jail.NODEV | jail.READ_ONLY
            jail.mount("tmpfs", path, "tmpfs", flags, "size=4k,nr_inodes=4,mode=555")
        else:
            jail.mount("/dev/null", path, None, jail.BIND)


def interfaces():
    """The names of the network interfaces that this process sees. Under gVisor, /proc shows those of an earlier namespace."""
    return sorted(name for _, name in _socket.if_nameindex())


def check_os_kernel(expected):
    """Detects a RuntimeClass that promises an OS kernel of the cell's own and does not give one."""
    if expected is None:
        return
    import _ctypes

    from ..shared.system import symbol

    log = bytes(8192)
    size = _ctypes.call_function(symbol("klogctl"), (SYSLOG_READ_ALL, log, len(log)))
    # its first line. Programs of a node can bring their names into the log of its Linux kernel, but not this line.
    if size <= 0 or not log[:size].partition(b"\n")[0].endswith(b"] Starting gVisor..."):
        fail("the OS kernel of the cell is not gVisor's")


def check_own_users():
    """Detects a node that ignores `hostUsers: false`: then other cells have this uid too, and share what Linux counts per user."""
    if read_file("/proc/self/uid_map").split() == [b"0", b"0", b"4294967295"]:
        fail("the node gave the pod no user namespace of its own")


def check_room(room):
    """Detects a kubelet that gives files in memory no size."""
    if room is None:
        return
    found = posix.statvfs("/workspace")
    if found.f_blocks * found.f_frsize > room + (1 << 20):
        fail("/workspace has no size limit: the node's kubelet is older than the API server")


def pod_supervisor(cell, relay):
    """The class of the supervisor: it protects its relay, and limits files in memory, to which old kubelets give no size."""
    from ..supervisor.supervisor import Supervisor
    from ..supervisor.watched_limits import WatchedLimits
    from .memory_files import FilesOf, MemoryFiles

    counted = [FilesOf("/workspace", cell["workspaceBytes"])]  # a kubelet's size limit does not count entries
    if "memoryFilesBytes" in cell:
        counted.append(MemoryFiles([], cell["memoryFilesBytes"]))

    class PodLimits(WatchedLimits):
        def look(self, active):
            super().look(active)
            if not any(files.are_over() for files in counted):
                return
            if not active:
                posix._exit(7)  # no run is active that could be stopped for it
            active[-1].stopper.stop("out_of_memory", kill=True)

    class PodSupervisor(Supervisor):
        def protects(self, caller, target):
            # pid 1 has a handler for SIGTERM, so Linux does not shield it from that
            return target in (1, relay) or super().protects(caller, target)

        def has_room(self, entries):
            return not any(files.are_over(entries) for files in counted)

        def watch_limits(self, config):
            if relay is not None:
                self.sweeper.own.add(relay)
            self.watched = PodLimits(self.branches, self.sweeper, config, self.sockets)

    return PodSupervisor


def await_host():
    """Answers each knock until the host says open. Reads byte by byte: what follows are frames."""
    line = b""
    while True:
        byte = posix.read(CHANNEL, 1)
        if not byte:
            posix._exit(0)
        if byte != b"\n":
            line += byte
            if len(line) > LONGEST_LINE:
                posix._exit(3)
            continue
        if line == b"open":
            break
        posix.write(ANSWERS, b"here" + line[len(b"knock") :] + b"\n")
        line = b""
    posix.write(ANSWERS, b"begin\n")


def add_cell_filter(name):
    """Adds codecell's filter to the runtime's. From here on it also applies to the supervisor itself."""
    from ..shared.system import add_filter

    if not add_filter(read_file("/.kernel/" + name)):
        fail("the system call filter could not be installed")


def fail(reason):
    """No user code has run yet, so the pod's status may carry the reason."""
    text = reason.encode("utf-8", "replace") + b"\n"
    posix.write(2, text)
    try:
        log = posix.open(TERMINATION_LOG, posix.O_WRONLY | posix.O_TRUNC | posix.O_CLOEXEC)
        posix.write(log, text)
        posix.close(log)
    except OSError:
        pass
    posix._exit(6)


def read_file(path):
    fd = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC)
    try:
        return posix.read(fd, 1 << 16)
    finally:
        posix.close(fd)
