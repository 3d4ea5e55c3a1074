"""Resource limits that every process of the cell inherits from its first process."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import resource


def set_limits(cell):
    """Sets soft and hard limits. Never raises an existing hard limit.

    The hard limit of open files stays for the supervisor alone: see `pass_descriptors`. The worker gives it up.
    """
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: cell["files"],
        resource.RLIMIT_FSIZE: cell["fileBytes"],
        resource.RLIMIT_MEMLOCK: 65536,
        resource.RLIMIT_MSGQUEUE: 65536,
        resource.RLIMIT_SIGPENDING: 1024,
        resource.RLIMIT_RTPRIO: 0,
        resource.RLIMIT_NICE: 0,
    }
    if cell.get("nprocLimit"):
        limits[resource.RLIMIT_NPROC] = cell["nprocLimit"]
    if cell.get("dataLimit"):
        limits[resource.RLIMIT_DATA] = cell["dataLimit"]
        limits[resource.RLIMIT_AS] = 2 * cell["dataLimit"]
    for which, value in limits.items():
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        try:
            resource.setrlimit(which, (value, hard if which == resource.RLIMIT_NOFILE else value))
        except ValueError:
            if which not in cell.get("mayLack", ()):
                raise
    if cell.get("affinity"):
        posix.sched_setaffinity(0, cell["affinity"])
