"""Counts the memory of the cell's processes."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic, process_time

from .proc import pids, read_proc

SHARED_SECONDS = 0.25  # of processor time, for counting shared pages once: a busy machine is no reason to end a worker
SHARED_WAIT_SECONDS = 4 * SHARED_SECONDS  # in all: a program can keep the locks that the count waits for


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
