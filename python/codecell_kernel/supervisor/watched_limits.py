"""Limits that the supervisor enforces itself: for cells without a cgroup, and for what no cgroup counts."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from time import monotonic

from ..measure.memory import anonymous_bytes, resident_bytes
from ..measure.proc import pids

RUNNING_SECONDS = 0.02
IDLE_SECONDS = 0.1
IDLE_GROUP_SECONDS = 1.0  # with a cgroup, which limits almost everything
TERMINALS = 64  # all cells and containers of a machine share a few thousand


class WatchedLimits:
    def __init__(self, branches, sweeper, config, sockets=None):
        """`sockets` knows the memory of socket buffers."""
        self.branches = branches
        self.sweeper = sweeper
        self.sockets = sockets
        self.memory_bytes = config.get("watchMemoryBytes")  # of everything, if there is no cgroup
        self.socket_bytes = config.get("watchSocketBytes")  # of TCP and UDP, if there is one
        if self.memory_bytes is not None and sockets is not None:
            sockets.begin()
        self.total_bytes = config.get("watchTotalBytes")  # of everything in the cell, if it has its own OS kernel
        self.processes = config.get("watchProcesses")
        self.due = 0.0
        self.most_bytes = 0  # resident memory at the fullest look

    def look_soon(self, now):
        """A run starts. At its start there is nothing of it to see: the first look is as far away as any two looks during it."""
        self.due = min(self.due, now + RUNNING_SECONDS)

    def on_time(self, now):
        """Also checks between two runs: threads and timers of user code keep running."""
        if now < self.due:
            return
        active = [branch for branch in self.branches.values() if branch.active is not None]
        self.due = now + (RUNNING_SECONDS if active else IDLE_SECONDS if self.memory_bytes else IDLE_GROUP_SECONDS)
        self.look(active)
        # A look that takes long leaves time for other work.
        self.due = max(self.due, now + 3 * (monotonic() - now))

    def look(self, active):
        """`active` are the branches with a current request."""
        self.watch_processes()
        self.watch_terminals()
        if not self.is_over():
            return
        if active:
            active[-1].stopper.stop("out_of_memory", kill=True)
        else:
            for branch in self.branches.values():
                branch.recovery.end_idle("it exceeded the memory limit between two runs")

    def is_over(self):
        if self.memory_bytes is None:
            return self.sockets.internet_bytes(self.socket_bytes) > self.socket_bytes
        if self.total_bytes is not None and anonymous_bytes() > self.total_bytes:
            return True  # a memfd belongs to no process: without this the container is killed, and the session with it
        buffers = 0 if self.sockets is None else self.sockets.all_bytes(self.memory_bytes // 8)
        left = self.memory_bytes - buffers
        if left < 0:
            return True
        resident = resident_bytes(self.sweeper.kept(workers=False), left)
        self.most_bytes = max(self.most_bytes, resident)
        return resident > left

    def watch_processes(self):
        """A run that starts too many processes loses all of them, and continues."""
        if self.processes and len(pids()) - len(self.sweeper.kept()) > self.processes:
            self.sweeper.kill_leftovers()

    def watch_terminals(self):
        """Only the template layout has a /dev/pts with a limit. Elsewhere, who has more loses processes and interpreter."""
        if terminals() <= TERMINALS:
            return
        self.sweeper.kill_leftovers()
        for branch in self.branches.values():
            branch.recovery.end_idle("it had more than %d terminals open" % TERMINALS)


def terminals():
    try:
        return len(posix.listdir("/dev/pts")) - 1  # the other entry is ptmx
    except OSError:
        return 0
