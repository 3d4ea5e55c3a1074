"""Opens what is below the workspace. The program in the cell changes everything here at any time, so nothing is opened by a
whole path: each step starts from a descriptor and follows no symlink. The attack: a directory that is swapped for a link to
`/proc/self` between a check and its use would show the host what only the supervisor can read.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import errno
import posix
from time import time_ns

from ..shared.counts import count_of, milliseconds_of

MAX_PARTS = 64
SETTLED_NS = 50_000_000
FORMAT, REGULAR, DIRECTORY = 0o170000, 0o100000, 0o040000
STEP = posix.O_PATH | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
LISTED = posix.O_RDONLY | posix.O_DIRECTORY | posix.O_NOFOLLOW | posix.O_CLOEXEC
# Not blocking: a FIFO that takes a file's place after the check would stop the supervisor until somebody writes to it.
READ = posix.O_RDONLY | posix.O_NOFOLLOW | posix.O_NONBLOCK | posix.O_NOCTTY | posix.O_CLOEXEC


class Refused(Exception):
    """What the host gets instead of an answer."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code
        self.message = message


def explained(error, path):
    """The refusal for a failed system call. The supervisor shares its limits with nobody, but the disk and the OS with all."""
    number = error.errno
    if number in (errno.ENOSPC, errno.EDQUOT):
        return Refused("too_large", "the disk of the cell is full")
    if number == errno.EFBIG:
        return Refused("too_large", "the file is larger than the disk of the cell allows for one file")
    if number == errno.ENOENT:
        return Refused("file_missing", "there is no file %s" % path)
    if number in (errno.ELOOP, errno.ENOTDIR):
        return Refused("file_refused", "%s: a part of the path is not a directory" % path)
    name = errno.errorcode.get(number, number)
    return Refused("file_refused", "%s: the cell's file system refused it (%s)" % (path, name))


def parts_of(path):
    """The names on a path. `..` is no symlink, so no flag of `open` would stop it."""
    parts = path.split("/")
    if len(parts) > MAX_PARTS or any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise Refused("file_refused", "%s is not a path of a file below the workspace" % path[:200])
    return parts


def facts_of(stat):
    """How the host describes a file. The OS sets the time of the last change, so a program cannot fake an old version.

    The version has the facts themselves. The attack on a hash of them: a program chooses its file's other time freely, and so one that
    brings back the hash of the old content. A secret in the hash would be in the memory of each worker that is forked later.
    """
    seen = (stat.st_dev, stat.st_ino, stat.st_ctime_ns, stat.st_mtime_ns, stat.st_size)
    return {
        "size": count_of(stat.st_size),
        "modifiedMs": milliseconds_of(stat.st_mtime_ns),
        "version": "%x.%x.%x.%x.%x" % seen,
    }


def is_settling(stat):
    """Whether the file was changed just now: the clock of a file system may stand still for some milliseconds, in which a second
    change has the same time as the first, and the same version.
    """
    return time_ns() - stat.st_ctime_ns < SETTLED_NS


def holes_of(stat):
    """How many bytes of a sparse file were never written."""
    return count_of(stat.st_size - stat.st_blocks * 512)


class Workspace:
    def __init__(self, root):
        """`root` is a descriptor that was opened before any user code ran."""
        self.root = root
        self.device = posix.fstat(root).st_dev

    def is_own(self, directory):
        """Whether it is on the workspace's own file system. What a policy mounts below the workspace is no file of the session."""
        return posix.fstat(directory).st_dev == self.device

    def open_directory(self, parts, flags=STEP):
        """A descriptor of the directory, which the caller closes."""
        directory = posix.open(".", flags if not parts else STEP, dir_fd=self.root)
        for index, part in enumerate(parts):
            try:
                deeper = posix.open(part, flags if index + 1 == len(parts) else STEP, dir_fd=directory)
            finally:
                posix.close(directory)
            directory = deeper
        return directory

    def open_parent(self, path):
        """(descriptor, name) of the directory that a file is in. The caller closes the descriptor."""
        parts = parts_of(path)
        directory = self.open_directory(parts[:-1])
        if not self.is_own(directory):
            posix.close(directory)
            raise Refused("file_refused", "%s is in a directory that the policy mounts" % path)
        return directory, parts[-1]

    def open_file(self, path):
        """A descriptor of a regular file, which the caller closes."""
        directory, name = self.open_parent(path)
        try:
            check_regular(posix.stat(name, dir_fd=directory, follow_symlinks=False), path)
            file = posix.open(name, READ, dir_fd=directory)
        finally:
            posix.close(directory)
        try:
            check_regular(posix.fstat(file), path)
        except BaseException:
            posix.close(file)
            raise
        return file

    def remove(self, path):
        directory, name = self.open_parent(path)
        try:
            if posix.stat(name, dir_fd=directory, follow_symlinks=False).st_mode & FORMAT == DIRECTORY:
                raise Refused("file_refused", "%s is a directory" % path)
            posix.unlink(name, dir_fd=directory)
        finally:
            posix.close(directory)


def check_regular(stat, path):
    kind = stat.st_mode & FORMAT
    if kind == DIRECTORY:
        raise Refused("file_refused", "%s is a directory" % path)
    if kind != REGULAR:
        raise Refused("file_refused", "%s is not a regular file" % path)
