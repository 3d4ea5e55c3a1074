"""Memory and process limits that the supervisor enforces itself, for cells without a cgroup."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic

from .processes import pids, resident_bytes

RUNNING_SECONDS = 0.02
IDLE_SECONDS = 0.1


class WatchedLimits:
    def __init__(self, branches, sweeper, config):
        self.branches = branches
        self.sweeper = sweeper
        self.memory_bytes = config.get("watchMemoryBytes")
        self.processes = config.get("watchProcesses")
        self.due = 0.0

    def on_time(self, now):
        """Also checks between two runs: threads and timers of user code keep running."""
        if now < self.due:
            return
        active = [branch for branch in self.branches.values() if branch.active is not None]
        self.due = now + (RUNNING_SECONDS if active else IDLE_SECONDS)
        self.look(active)
        # A look that takes long leaves time for other work.
        self.due = max(self.due, now + 3 * (monotonic() - now))

    def look(self, active):
        """`active` are the branches with a current request."""
        self.watch_processes()
        if resident_bytes(self.sweeper.kept(workers=False), self.memory_bytes) <= self.memory_bytes:
            return
        if active:
            active[-1].stopper.stop("out_of_memory", kill=True)
        else:
            for branch in self.branches.values():
                branch.recovery.end_idle("it exceeded the memory limit between two runs")

    def watch_processes(self):
        """A run that starts too many processes loses all of them, and continues."""
        if self.processes and len(pids()) - len(self.sweeper.kept()) > self.processes:
            self.sweeper.kill_leftovers()
