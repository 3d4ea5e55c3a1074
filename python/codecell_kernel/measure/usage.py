"""What the processes of the cell use, for a host that cannot see it: in a pod, or without control groups."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

from .memory import resident_bytes
from .proc import pids, read_proc

NO_LIMIT = 1 << 62
TIMES = slice(11, 15)  # in /proc/PID/stat after the name: its own time in programs and in the OS, and that of its reaped children


class Usage:
    def __init__(self, sweeper, watched):
        self.sweeper = sweeper
        self.watched = watched
        self.ticks = posix.sysconf("SC_CLK_TCK")
        self.cpu_ms = 0
        self.peak_bytes = 0

    def measure(self):
        """Memory is counted as for the limit: without the supervisor and the parked copies."""
        limit = NO_LIMIT if self.watched is None else self.watched.memory_bytes or NO_LIMIT
        memory = resident_bytes(self.sweeper.kept(workers=False), limit)
        seen = 0 if self.watched is None else self.watched.most_bytes
        self.peak_bytes = max(self.peak_bytes, memory, seen)
        # A program can have the OS reap its children, which then count nowhere: the sum must not fall.
        self.cpu_ms = max(self.cpu_ms, self.processor_ms())
        return {"t": "usage", "cpuMs": self.cpu_ms, "memoryBytes": memory, "peakMemoryBytes": self.peak_bytes}

    def processor_ms(self):
        """Of this process, of what it has reaped, and of what is alive with what that has reaped."""
        total = sum(posix.times()[:4]) * 1000
        own = posix.getpid()
        for pid in pids():
            if pid != own:
                fields = read_proc(pid, "stat").rpartition(b") ")[2].split()[TIMES]
                total += sum(int(field) for field in fields) * 1000 // self.ticks
        return int(total)
