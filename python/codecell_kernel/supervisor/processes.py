"""Finds, checks and kills processes of the cell."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from time import monotonic, process_time

SIGKILL, SIGCONT, SIGSTOP = 9, 18, 19
SHARED_SECONDS = 0.25  # of processor time, for counting shared pages once: a busy machine is no reason to end a worker
SHARED_WAIT_SECONDS = 4 * SHARED_SECONDS  # in all: a program can keep the locks that the count waits for


def pids():
    return [int(name) for name in posix.listdir("/proc") if name[0].isdigit()]


class NewProcesses:
    """Whether a process was started since the last check: one read instead of a walk over /proc after each run."""

    def __init__(self):
        self.fd = posix.open("/proc/loadavg", posix.O_RDONLY | posix.O_CLOEXEC)
        self.latest = b""

    def any(self):
        latest = posix.pread(self.fd, 128, 0).rpartition(b" ")[2]
        # gVisor does not count and always says 0: treat that as a change
        changed = latest != self.latest or latest.strip() == b"0"
        self.latest = latest
        return changed

    def began(self, own, worker):
        """The first worker has started. If it and this process are all that ever was in this pid namespace, its first run has
        nothing to sweep unless it starts something itself.
        """
        self.any()
        if (own, worker, self.latest.strip()) != (1, 2, b"2"):
            self.forget()

    def copied(self, pid, forks):
        """A copy used one pid, or two. If anything else was started meanwhile, the next check has to report it."""
        before = self.latest
        self.any()
        if not before or forks not in (1, 2) or int(before) + forks != pid or int(self.latest) != pid:
            self.forget()

    def forget(self):
        """Makes the next check report a change."""
        self.latest = b""


def kill_all_but(kept, reap, held=(), before_look=lambda: None):
    """Kills every other process and returns how many. Sends SIGSTOP first, so that a fork bomb cannot outrun the kills.

    `held` are kept processes that are stopped meanwhile: their threads could fork faster than that too. A stop takes effect
    only once a thread of the process is scheduled, so a process may still start after the last check.
    """
    for pid in held:
        signal_quietly(pid, SIGSTOP)
    try:
        return kill_others(kept, reap, before_look)
    finally:
        for pid in held:
            signal_quietly(pid, SIGCONT)


def kill_others(kept, reap, before_look):
    ended = set()
    for round_number in range(2000):
        before_look()
        others = [pid for pid in pids() if pid not in kept]
        if not others:
            break
        ended.update(others)
        for signal in (SIGSTOP, SIGKILL):
            for pid in others:
                signal_quietly(pid, signal)
        reap()
        if round_number > 3:
            if not any(alive(pid) for pid in others):
                break  # only zombies are left, whose parent is the worker: it reaps them
            select.select([], [], [], 0.0005)
    return len(ended)


def signal_quietly(pid, signal):
    try:
        posix.kill(pid, signal)
    except OSError:
        pass


def is_there(pid):
    """Whether a process has this pid, even if it is a zombie."""
    try:
        posix.kill(pid, 0)
    except OSError:
        return False
    return True


def freeze_copy(pid):
    """Stops a process that claims to be a parked copy. Returns whether it can be one.

    The message may be forged, and sweeps spare the process that it names. So the process must be a child of the
    supervisor, which notices its death; lead its own session, out of reach of groups and terminals; and stay stopped.
    """
    signal_quietly(pid, SIGSTOP)
    return is_own_session(pid)


def is_own_session(pid):
    """Whether it is a child of the supervisor and leads its own session."""
    _, _, fields = read_proc(pid, "stat").rpartition(b") ")
    return fields.split()[1:4] == [b"%d" % posix.getpid(), b"%d" % pid, b"%d" % pid]  # parent, group, session


def session_of(pid):
    """The session's id, or -1 if the process has exited."""
    try:
        return posix.getsid(pid)
    except OSError:
        return -1


def alive(pid):
    state = read_proc(pid, "stat").rpartition(b") ")[2][:1]
    return state != b"" and state != b"Z"


def resident_bytes(left_out, limit):
    """Resident memory of the cell's processes, for hosts without a memory cgroup.

    Shared anonymous memory counts in each process that maps it: it is in no file system, so nothing else limits it. So do
    pages that forks have in common, at first: counting them once takes longer, and is done only if the sum is over the limit.
    gVisor reports only the total of a process, in which pages shared with a parent count twice. If that sum is over the
    limit, the total that gVisor has handed out is used instead.
    """
    total = whole = 0
    for pid in pids():
        if pid not in left_out:
            found = memory_figures(read_proc(pid, "status"))
            if b"RssAnon" in found:
                total += found[b"RssAnon"] + found.get(b"RssShmem", 0)
            else:
                whole += found.get(b"VmRSS", 0)
    if total > limit and not whole:
        return min(total, shared_once(limit, total))
    if total + whole > limit and whole:
        whole = min(whole, anonymous_bytes() or whole)
    return total + whole


def anonymous_bytes():
    """What an OS kernel of the cell's own has handed out, files in memory included."""
    return memory_figures(read_proc("", "meminfo")).get(b"AnonPages", 0)


def shared_once(limit, otherwise):
    """The same, with a page that several processes share counted once. Stops at the limit.

    Copies of the interpreter count too: they hold a share of the pages that they have in common with it. The Linux kernel walks
    the page tables for this, so the answer is `otherwise` if that takes too long: meanwhile the supervisor does nothing else.
    """
    total = 0
    end, last = process_time() + SHARED_SECONDS, monotonic() + SHARED_WAIT_SECONDS
    for pid in pids():
        if process_time() > end or monotonic() > last:
            return otherwise
        found = memory_figures(read_proc(pid, "smaps_rollup"))
        if b"Pss_Anon" in found:
            total += found[b"Pss_Anon"] + found.get(b"Pss_Shmem", 0)
        else:  # a program can hide this file of its own, but not its status
            found = memory_figures(read_proc(pid, "status"))
            total += found.get(b"RssAnon", 0) + found.get(b"RssShmem", 0)
        if total > limit:
            break
    return total


def memory_figures(text):
    """The figures about resident memory, in bytes."""
    figures = {}
    for line in text.split(b"\n"):
        if line.startswith((b"RssAnon:", b"RssShmem:", b"VmRSS:", b"AnonPages:", b"Pss_Anon:", b"Pss_Shmem:")):
            name, value = line.split()[:2]
            figures[name[:-1]] = int(value) << 10
    return figures


def read_proc(pid, name):
    try:
        fd = posix.open("/proc/%s/%s" % (pid, name), posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return posix.read(fd, 4096)
    except OSError:
        return b""
    finally:
        posix.close(fd)
