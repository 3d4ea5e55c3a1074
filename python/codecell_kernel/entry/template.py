"""The process runner's template, one process per policy: preloads modules, then forks a cell for each connection.

It never runs user code.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import gc
import os
import select
import signal
import socket
import struct
import sys

from ..shared.frames import PREFIX, head
from ..shared.lean_json import loads
from ..shared.system import close_all_but, set_dumpable
from ..supervisor.handover import listen_for_host
from ..measure.socket_memory import open_socket_memory
from ..supervisor.supervisor import Supervisor
from ..worker.interpreter import import_modules
from ..worker.worker import main as run_worker
from . import jail

SOCKET = "/run/s/cells"
MOUNTS_SOCKET = "/run/s/mounts"  # where the host passes the file systems of sessions
MESSAGES = 4  # the host's message channel, over which cells send their listening sockets
BIRTH = struct.Struct("ii")  # the connection's descriptor in the template, the pid
RETRY_MS = 100  # until the next attempt to accept, if nothing of this template ends before


def main():
    config, filters = read_frame(0)
    os.closerange(3, MESSAGES)
    # Node passes on inherited descriptors, and bubblewrap does not close them
    os.closerange(MESSAGES + 1 if config["handsOver"] else MESSAGES, 1 << 16)
    preload(config)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # listed here, because a cell with its own uid may not
    temporary = [entry.name for entry in os.scandir("/tmp") if entry.is_dir(follow_symlinks=False)]
    config["cell"]["temporary"] = temporary
    split = config["cellFilterBytes"]
    Template(config, filters[:split], filters[split:]).serve()


class Template:
    """Accepts connections. Closes a connection when, and only when, its cell has exited."""

    def __init__(self, config, cell_filter, notify_filter):
        self.config = config
        self.cell_filter = cell_filter
        self.notify_filter = notify_filter
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(SOCKET)
        self.listener.listen(512)
        self.listener.setblocking(False)
        self.passing = None
        self.passed = {}  # descriptor of the host's connection, to the connection, the ticket and the mount's descriptor
        if config.get("takesMounts"):
            self.passing = socket.socket(socket.AF_UNIX)
            self.passing.bind(MOUNTS_SOCKET)
            self.passing.listen(64)
            self.passing.setblocking(False)
        self.births, self.announce = os.pipe()
        os.set_blocking(self.births, False)
        self.starting = {}  # pidfd of a process that is about to start a cell, to the connection
        self.connections = {}  # descriptor to socket
        self.reserved = {}  # descriptor of a connection, to one that the pidfd of its cell will replace
        self.spare = os.dup(self.births)  # makes room for a connection that can only be refused
        self.paused = []  # listeners that could not accept
        self.cells = {}  # pidfd to the connection's descriptor
        self.pidfds = {}  # the other way round

    def serve(self):
        self.poll = select.poll()
        messages = (MESSAGES,) if self.config["handsOver"] else ()
        passing = (self.passing.fileno(),) if self.passing else ()
        for fd in (0, self.listener.fileno(), self.births, *messages, *passing):
            self.poll.register(fd, select.POLLIN)
        os.write(1, head({"t": "up"}))
        while True:
            ready = self.poll.poll(RETRY_MS if self.paused else None)
            self.listen_again()  # something has ended, or some time has passed
            for fd, _ in ready:
                if fd == 0:
                    os._exit(0)  # the host has exited
                elif fd == self.listener.fileno():
                    self.accept()
                elif fd == MESSAGES and messages:
                    if not os.read(fd, 1 << 16):  # only acknowledgements of sockets: read them, or they fill the channel
                        os._exit(0)
                elif fd == self.births:
                    self.read_births()
                elif fd in passing:
                    self.take_mount()
                elif fd in self.passed:
                    self.drop_mount(fd)
                elif fd in self.starting:
                    self.started(fd)
                elif fd in self.cells:
                    self.gone(fd)
                elif fd in self.connections:
                    self.abandoned(fd)

    def accept(self):
        """A start that fails is answered, and ends no other cell: without descriptors, processes or memory, the next may succeed."""
        try:
            connection, _ = self.listener.accept()
        except OSError as error:
            self.refuse_next(error)
            return
        held = []
        try:
            held.append(os.dup(self.births))  # for the pidfd of the starting process
            held.append(os.dup(self.births))  # for that of the cell
            starter = os.fork()
        except OSError as error:
            for fd in held:
                os.close(fd)
            refuse(connection, error)
            return
        if starter == 0:
            self.listener.close()
            become_cell(connection, self)
        self.connections[connection.fileno()] = connection
        self.reserved[connection.fileno()] = held.pop()
        os.close(held.pop())
        try:
            pidfd = os.pidfd_open(starter)
        except ProcessLookupError:  # it is dead already
            self.check_birth(connection)
            return
        except OSError:  # the machine is out of something; the start goes on, and the host has a limit for it
            return
        self.starting[pidfd] = connection
        self.poll.register(pidfd, select.POLLIN)

    def refuse_next(self, error):
        """Answers the next start although there is no descriptor for its connection. If even that fails, it waits in the queue."""
        if self.spare is not None:
            os.close(self.spare)
            self.spare = None
        try:
            refuse(self.listener.accept()[0], error)
        except OSError:
            self.pause(self.listener)
        try:
            self.spare = os.dup(self.births)
        except OSError:
            pass

    def pause(self, listener):
        """Nothing can be accepted now. To wait for the listener, which stays readable, would be a busy loop."""
        self.poll.unregister(listener.fileno())
        self.paused.append(listener)

    def listen_again(self):
        for listener in self.paused:
            self.poll.register(listener.fileno(), select.POLLIN)
        self.paused.clear()

    def close_connection(self, fd):
        reserved = self.reserved.pop(fd, None)
        if reserved is not None:
            os.close(reserved)
        self.connections.pop(fd).close()

    def take_mount(self):
        """The host passes a session's file system before it asks for the cell, and hangs up when the cell has started."""
        try:
            connection, _ = self.passing.accept()
        except OSError:
            self.pause(self.passing)
            return
        connection.settimeout(5)
        try:
            ticket, (mounted,), _, _ = socket.recv_fds(connection, 64, 1)
            connection.sendall(b"1")
        except (OSError, ValueError):  # the host has given up
            connection.close()
            return
        self.passed[connection.fileno()] = (connection, ticket.decode(), mounted)
        self.poll.register(connection.fileno(), select.POLLIN | select.POLLRDHUP)

    def drop_mount(self, fd):
        self.poll.unregister(fd)
        connection, _, mounted = self.passed.pop(fd)
        os.close(mounted)
        connection.close()

    def mount_of(self, ticket):
        return next(mounted for _, known, mounted in self.passed.values() if known == ticket)

    def started(self, pidfd):
        """The process that starts a cell has exited, as it always does."""
        self.poll.unregister(pidfd)
        os.close(pidfd)
        self.check_birth(self.starting.pop(pidfd))

    def check_birth(self, connection):
        """If it was killed before it reported a cell, nothing else would ever close the connection: the host would wait."""
        self.read_births()
        fd = connection.fileno()
        if self.connections.get(fd) is connection and fd not in self.pidfds:
            self.close_connection(fd)

    def read_births(self):
        try:
            while True:
                self.born(*BIRTH.unpack(os.read(self.births, BIRTH.size)))
        except BlockingIOError:
            pass

    def born(self, fd, pid):
        """A cell's pid 1 exists. Pid 0 means that its setup failed."""
        reserved = self.reserved.pop(fd, None)
        if reserved is not None:
            os.close(reserved)
        try:
            pidfd = os.pidfd_open(pid)
        except (OSError, ValueError) as error:
            if pid > 0 and not isinstance(error, ProcessLookupError):
                try:
                    os.kill(pid, signal.SIGKILL)  # a cell that the template cannot watch would outlive its session
                except ProcessLookupError:
                    pass
            self.close_connection(fd)
            return
        self.cells[pidfd] = fd
        self.pidfds[fd] = pidfd
        self.poll.register(pidfd, select.POLLIN)
        self.poll.register(fd, select.POLLRDHUP)

    def abandoned(self, fd):
        """The host has closed its end: kill the cell, whatever its supervisor is doing."""
        self.poll.unregister(fd)
        try:
            signal.pidfd_send_signal(self.pidfds[fd], signal.SIGKILL)
        except OSError:
            pass

    def gone(self, pidfd):
        """Pid 1 is dead. The Linux kernel has already killed everything else in its pid namespace."""
        self.poll.unregister(pidfd)
        os.close(pidfd)
        fd = self.cells.pop(pidfd)
        del self.pidfds[fd]
        try:
            self.poll.unregister(fd)
        except KeyError:
            pass
        self.close_connection(fd)


def preload(config):
    """Imports everything that a cell needs once, so that no cell has to."""
    for entry in config["path"]:
        if entry not in sys.path:
            sys.path.append(entry)
    import _ast  # noqa: F401
    import asyncio  # noqa: F401
    import json  # noqa: F401
    import linecache  # noqa: F401
    import random  # noqa: F401
    import traceback  # noqa: F401
    import warnings  # noqa: F401

    from ..supervisor import watched_limits  # noqa: F401

    os.environ["MPLBACKEND"] = "module://codecell_kernel.worker.figures"
    os.environ.update(config["env"])
    import_modules(config["preload"])
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a module in kernel.preload started a thread: a process with threads cannot be forked safely")


def become_cell(connection, template):
    """A short-lived child of the template: the new pid namespace starts with its next fork."""
    number = connection.fileno()
    pid = 0
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        request, _ = read_frame(number)
        jail.join_cgroups(request["cgroups"])
        if "uid" in request:
            jail.switch_user(request["uid"])
        jail.unshare()
        reported, report = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(report)
            become_supervisor(connection, template, request, reported)
    except BaseException as error:
        fail(number, error)
    os.write(template.announce, BIRTH.pack(number, pid))
    if pid:
        os.write(report, b"1")
    os._exit(0)


def become_supervisor(connection, template, request, reported):
    """Pid 1 of the cell; never returns. `reported` can be read once the template knows of this process."""
    try:
        os.setsid()
        jail.enter(cell_of(template, request))
        # All cells of a template share the host's message channel. Its last use is here, before any user code runs.
        listener = listen_for_host(MESSAGES, request["ticket"]) if "ticket" in request else None
        if not os.read(reported, 1):
            os._exit(1)  # our parent was killed: a cell that the template does not know would outlive its session
        channel = connection.detach()
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        close_all_but((0, 1, 2, channel) if listener is None else (0, 1, 2, channel, listener.fileno()))
        os.set_inheritable(channel, False)
        reseed()
        sockets = open_socket_memory()
        jail.apply_filter(template.cell_filter)
        set_dumpable(0)
        Supervisor(channel, run_worker, template.notify_filter, listener=listener, sockets=sockets).main()
    except BaseException as error:
        fail(channel if connection.fileno() < 0 else connection.fileno(), error)
    os._exit(1)


def cell_of(template, request):
    """The template's cell with the current denials, and with the session's own workspace if it has one."""
    config = template.config
    mounts = request["mounts"]
    if "disk" in request:
        mounts = [{"descriptor": template.mount_of(request["disk"]), "target": "/workspace"}, *mounts]
    elif "workspace" in request:
        stage = config["workspacesStage"] + "/" + request["workspace"]
        mounts = [{"stage": stage, "target": "/workspace", "readOnly": request["isReadOnly"], "deny": [], "pins": []}, *mounts]
    return dict(config["cell"], mounts=mounts)


def refuse(connection, error):
    """Answers a start that this process cannot serve now."""
    fail(connection.fileno(), error)
    try:
        connection.recv(1 << 20, socket.MSG_DONTWAIT)  # unread bytes would turn the end of the connection into an error
    except OSError:
        pass
    connection.close()


def fail(fd, error):
    reason = "%s: %s" % (type(error).__name__, error)
    try:
        os.write(fd, head({"t": "failed", "reason": reason[:2000]}))
    except OSError:
        pass


def reseed():
    """Without this, cells of one template would get the same random numbers, because they start from the same memory."""
    sys.modules["random"].seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def read_frame(fd):
    length, header_length = PREFIX.unpack(read_exactly(fd, 8))
    if length > 1 << 20 or header_length + 4 > length:
        raise ValueError("a frame is out of bounds")
    data = read_exactly(fd, length - 4)
    return loads(data[:header_length].decode()), data[header_length:]


def read_exactly(fd, size):
    data = b""
    while len(data) < size:
        piece = os.read(fd, size - len(data))
        if not piece:
            os._exit(0)
        data += piece
    return data
