"""Limits files that exist only in memory: their pages belong to no process, so no process limit covers them."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

ENTRY_BYTES = 4096
INODE_BYTES = 1024  # roughly what Linux needs for an empty file


class MemoryFiles:
    def __init__(self, others, limit):
        """`others` are host directories: they may be on a tmpfs too, which does not count for the cell."""
        left_out = {posix.stat(path).st_dev for path in others}
        self.mounts = {}
        for fields in mount_table():
            self.consider(fields, left_out)
        self.limit = limit + self.bytes()

    def consider(self, fields, left_out):
        path, options, rest = fields[4], fields[5], fields[fields.index("-") + 1 :]
        if rest[0] != "tmpfs" or "rw" not in options.split(","):
            return
        try:
            device = posix.stat(unescaped(path)).st_dev
        except OSError:
            return  # covered by another mount
        major, _, minor = fields[2].partition(":")
        if device == posix.makedev(int(major), int(minor)) and device not in left_out:
            self.mounts[device] = unescaped(path)

    def bytes(self):
        total = 0
        for path in self.mounts.values():
            try:
                found = posix.statvfs(path)
            except OSError:
                continue
            total += (found.f_blocks - found.f_bfree) * found.f_frsize
            total += (found.f_files - found.f_ffree) * INODE_BYTES
        return total

    def are_over(self, entries=0):
        return self.bytes() + entries * INODE_BYTES > self.limit


class FilesOf:
    """Limits one file system in memory. Deleted files count while they are open, and each entry counts as at least 4 KiB."""

    def __init__(self, path, limit):
        self.path = path
        self.limit = limit
        self.is_counted = posix.stat(path).st_dev in MemoryFiles([], 0).mounts
        self.entries = self.used()[1]

    def used(self):
        found = posix.statvfs(self.path)
        return (found.f_blocks - found.f_bfree) * found.f_frsize, found.f_files - found.f_ffree

    def are_over(self, entries=0):
        """Whether the limit is exceeded, or would be with so many more entries."""
        if not self.is_counted:
            return False
        used, found = self.used()
        return used > self.limit or (found + entries - self.entries) * ENTRY_BYTES > self.limit


def mount_table():
    """The fields of each mount. Split at spaces and line feeds only: names may contain other white space."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        return [line.rstrip("\n").split(" ") for line in lines]


def unescaped(path):
    """Linux writes spaces and backslashes as octal numbers."""
    for code in ("040", "011", "012"):
        path = path.replace("\\" + code, chr(int(code, 8)))
    return path.replace("\\134", "\\")
