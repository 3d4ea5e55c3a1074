"""Which files changed below a directory since the last check, from inotify instead of a walk.

The supervisor holds the watch. The cost of a check depends on how much changed: only new directories are walked.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from _struct import Struct

import _ctypes

from ..shared.counts import count_of, milliseconds_of
from ..shared.lean_json import dumps
from ..shared.system import symbol
from ..shared.unfinished import is_unfinished

EVENT = Struct("<iIII")
CLOSED_AFTER_WRITE, MOVED_TO, CREATED = 0x8, 0x80, 0x100
OVERFLOW, IGNORED, IS_DIRECTORY = 0x4000, 0x8000, 0x40000000
ONLY_DIRECTORY, NO_FOLLOW = 0x1000000, 0x2000000
# Not MODIFIED: a program that writes in small pieces would wake the supervisor for each one. Closing the file is enough.
MASK = CLOSED_AFTER_WRITE | MOVED_TO | CREATED | ONLY_DIRECTORY | NO_FOLLOW
NONBLOCK_CLOEXEC = 0o4000 | 0o2000000
PACKAGES = ".codecell-packages"  # what `%pip install` brought: not the program's own files, and thousands of them
MAX_DIRECTORIES = 4096
MAX_PATHS = 20_000
MAX_READS = 8
READ_ONLY = 1  # a flag of statvfs
REGULAR, DIRECTORY, FORMAT = 0o100000, 0o040000, 0o170000


def changes_below(root):
    """Uses inotify, or compares two walks if inotify's limits are used up."""
    try:
        return Changes(root)
    except Unwatchable:
        return WalkedChanges(root)


def fitting(rows, room):
    """The first rows whose JSON fits into this many bytes. The attack: a thousand long names, whose header no frame can hold."""
    if sum(12 * len(row["path"]) + 64 for row in rows) <= room:  # at most: most lists need no exact count
        return rows
    for index, row in enumerate(rows):
        room -= len(dumps(row)) + 1
        if room < 0:
            return rows[:index]
    return rows


class Unwatchable(Exception):
    """There are more directories than inotify allows to be watched."""


class Changes:
    """Paths below `root` that were created or changed, relative to `root`."""

    def __init__(self, root):
        self.root = root
        self.fd = _ctypes.call_function(symbol("inotify_init1"), (NONBLOCK_CLOEXEC,))
        if self.fd < 0:
            raise Unwatchable("inotify_init1")
        self.poll = select.poll()
        self.poll.register(self.fd, select.POLLIN)
        self.directories = {}  # watch number to path below the root, with a slash at its end
        self.touched = set()
        self.sent = {}  # path to what is known of a file that the host sent: no change of the program
        self.is_lossy = False  # Linux dropped notifications, or there were too many to keep
        self.watch("", walk=True, report=False)

    def watch(self, prefix, walk, report):
        """Watches a directory and all below it. Not recursive: user code decides how deep directories go."""
        waiting = [prefix]
        while waiting:
            waiting += self.watch_one(waiting.pop(), walk, report)

    def is_cover(self, path):
        """Whether a runner has covered this directory because the policy denies it: a mount that cannot be read."""
        if posix.access(path, posix.R_OK):
            return False
        try:
            return posix.statvfs(path).f_flag & READ_ONLY != 0 or posix.stat(path).st_dev != posix.stat(self.root).st_dev
        except OSError:
            return True  # the program has renamed or removed it meanwhile: there is nothing to watch

    def watch_one(self, prefix, walk, report):
        """Watches one directory and returns those in it. Files in a new one may be older than its watch, so list them."""
        if len(self.directories) >= MAX_DIRECTORIES:
            raise Unwatchable("directories")
        path = (self.root + "/" + prefix).encode("utf-8", "surrogateescape")
        number = _ctypes.call_function(symbol("inotify_add_watch"), (self.fd, path, MASK))
        if number < 0:
            if exists(path) and not self.is_cover(path):
                raise Unwatchable("inotify_add_watch")
            return []
        self.directories[number] = prefix
        if not walk:
            return []
        try:
            entries = list(posix.scandir(path.decode("utf-8", "surrogateescape")))
        except OSError:
            return []
        below = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if prefix or entry.name != PACKAGES:
                    below.append(prefix + entry.name + "/")
            elif report:
                self.note(prefix + entry.name)
        return below

    def placed(self, path, stat):
        """The host sent this file. Notifications of thousands of files do not fit into inotify's queue."""
        self.drain()
        if len(self.sent) < MAX_PATHS:
            self.sent[path] = known_of(stat)

    def note(self, path):
        if is_unfinished(path):
            return
        if len(self.touched) < MAX_PATHS:
            self.touched.add(path)
        else:
            self.is_lossy = True

    def drain(self):
        """Reads pending notifications. Called often, so that inotify's queue stays short. True if it read all of them.

        Bounded: programs that write without pause must not stop the supervisor from checking deadlines.
        """
        for _ in range(MAX_READS):
            if not self.poll.poll(0):  # true after most runs, and cheaper than a failing read
                return True
            data = posix.read(self.fd, 65536)
            at = 0
            while at < len(data):
                number, mask, _, length = EVENT.unpack_from(data, at)
                name = data[at + 16 : at + 16 + length].rstrip(b"\0").decode("utf-8", "surrogateescape")
                at += 16 + length
                self.on_event(number, mask, name)
        return False

    def on_event(self, number, mask, name):
        if mask & OVERFLOW:
            self.is_lossy = True
            return
        if mask & IGNORED:
            self.directories.pop(number, None)
            return
        prefix = self.directories.get(number)
        if prefix is None or not name:
            return
        if mask & IS_DIRECTORY:
            if mask & (CREATED | MOVED_TO) and (prefix or name != PACKAGES):
                try:
                    self.watch(prefix + name + "/", walk=True, report=True)
                except Unwatchable:
                    self.is_lossy = True
        else:
            self.note(prefix + name)

    def take(self, limit, is_drained=False):
        """(rows, is_complete): path, size and modification time of changed regular files. Then starts over.

        `is_drained`: the caller knows that no notification is pending.
        """
        if not is_drained and not self.drain():
            self.is_lossy = True
        if not self.touched and not self.is_lossy:
            return (), True
        rows, sent = [], 0
        for path in sorted(self.touched):
            try:
                stat = posix.lstat(self.root + "/" + path)
            except OSError:
                continue
            if self.sent.get(path) == known_of(stat):
                sent += 1
            elif stat.st_mode & FORMAT == REGULAR and len(rows) < limit:
                rows.append(row_of(path, stat.st_size, stat.st_mtime_ns))
        complete = not self.is_lossy and len(self.touched) - sent <= limit
        self.touched.clear()
        self.sent.clear()
        self.is_lossy = False
        return rows, complete


class WalkedChanges:
    """The same answers by comparing two walks, up to a maximum number of files."""

    fd = -1

    def __init__(self, root):
        self.root = root
        self.known, _ = self.walk()

    def drain(self):
        pass

    def placed(self, path, stat):
        self.known[path] = known_of(stat)

    def walk(self):
        found, waiting, is_complete = {}, [""], True
        while waiting:
            prefix = waiting.pop()
            try:
                entries = list(posix.scandir(self.root + "/" + prefix))
            except OSError:
                continue
            for entry in entries:
                if len(found) >= MAX_PATHS:
                    return found, False
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not prefix and entry.name == PACKAGES:
                            continue
                        waiting.append(prefix + entry.name + "/")
                    elif entry.is_file(follow_symlinks=False):
                        stat = entry.stat(follow_symlinks=False)
                        found[prefix + entry.name] = known_of(stat)
                except OSError:
                    continue
        return found, is_complete

    def take(self, limit, is_drained=False):
        before, (self.known, is_complete) = self.known, self.walk()
        found = (path for path, facts in self.known.items() if before.get(path) != facts)
        changed = sorted(path for path in found if not is_unfinished(path))
        rows = [row_of(path, *self.known[path][:2]) for path in changed[:limit]]
        return rows, is_complete and len(changed) <= limit


def row_of(path, size, modified_ns):
    return {"path": path, "size": count_of(size), "modifiedMs": milliseconds_of(modified_ns)}


def known_of(stat):
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def exists(path):
    try:
        posix.lstat(path)
    except OSError:
        return False
    return True
