"""One page of the files below the workspace, in the order of their paths.

Generators that pause often, because the supervisor has deadlines to keep. They hold two pages of paths at most, however many
files there are, and ask for the sizes and times of one page.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import errno
import posix

from ..shared.lean_json import dumps
from ..shared.unfinished import is_unfinished
from .workspace import FORMAT, LISTED, MAX_PARTS, REGULAR, STEP, facts_of, is_settling

MAX_ENTRIES = 200_000
MAX_PATH_BYTES = 1024  # the longest path that the host accepts
MAX_PAGE_BYTES = 8 << 20  # half of what the host accepts. The attack: ten thousand of the longest names
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
SLICE = 128  # entries between two pauses: less than a millisecond


class Listing:
    def __init__(self, workspace, prefix, after, limit):
        self.workspace = workspace
        self.prefix = prefix
        self.after = after
        self.limit = limit
        self.first = FirstPaths(limit + 1)
        self.entries = 0
        self.left_out = 0
        self.is_truncated = False

    def walk(self):
        """Visits directories in the order of their paths: once a page is full, later ones are skipped."""
        waiting = [""]
        while waiting and not self.is_full_walk():
            at = waiting.pop()
            if self.first.wants(at):
                below = yield from self.visit(at)
                waiting += sorted(below, reverse=True)
            yield  # after empty ones too. The attack: 200,000 of them would keep the supervisor from its limits for seconds

    def is_full_walk(self):
        return self.entries > MAX_ENTRIES

    def visit(self, at):
        """Notes the files of one directory and returns the directories in it."""
        below = []
        try:
            directory = self.workspace.open_directory(at.split("/")[:-1], LISTED)
        except OSError as error:
            if not at:
                raise
            self.miss(error)
            return below
        try:
            if not self.workspace.is_own(directory):
                return below
            with posix.scandir(directory) as entries:
                for entry in entries:
                    self.entries += 1
                    if self.is_full_walk():
                        self.is_truncated = True
                        break
                    if self.entries % SLICE == 0:
                        yield
                    self.note(entry, at, below)
        except OSError as error:
            self.miss(error)
        finally:
            posix.close(directory)
        return below

    def miss(self, error):
        """A directory that was removed or replaced by a link holds no files. Any other may hold some, so the list says that it is
        not complete: who saves the files must not take them for deleted.
        """
        self.left_out += 1
        if error.errno not in GONE:
            self.is_truncated = True

    def note(self, entry, at, below):
        path = at + entry.name
        if entry.is_dir(follow_symlinks=False):
            self.note_directory(path + "/", below)
        elif path.startswith(self.prefix) and path > self.after and not is_unfinished(entry.name):
            if not entry.is_file(follow_symlinks=False) or not is_usable(path):
                self.left_out += 1
            elif self.first.wants(path):
                self.first.add(path)

    def note_directory(self, path, below):
        may_match = path.startswith(self.prefix) or self.prefix.startswith(path)
        if not may_match or not (path > self.after or self.after.startswith(path)):
            return
        if not is_usable(path):
            self.left_out += 1
        elif path.count("/") >= MAX_PARTS:
            self.is_truncated = True
        else:
            below.append(path)

    def pieces(self):
        """Yields the page as JSON, in pieces. It ends early if the names are very long: the next page starts there."""
        yield b'{"files":['
        paths, size, last = self.first.sorted(), 0, None
        for start in range(0, min(len(paths), self.limit), SLICE):
            some = paths[start : min(start + SLICE, self.limit)]
            text = ",".join([dumps(row) for row in self.rows(some)]).encode()
            last = some[-1]
            if text:
                yield b"," + text if size else text
            size += len(text)
            if size > MAX_PAGE_BYTES:
                break
        end = {"leftOut": self.left_out, "truncated": self.is_truncated}
        if last is not None and last != paths[-1]:
            end["next"] = last
        yield b"]," + dumps(end).encode()[1:]

    def rows(self, paths):
        """What is known of each file. Those that are gone or no longer regular are left out."""
        rows, parent, directory = [], None, None
        for path in paths:
            above, _, name = path.rpartition("/")
            try:
                if above != parent:
                    parent, directory = above, closed(directory)
                    directory = self.workspace.open_directory(above.split("/") if above else [], STEP)
                if directory is not None:
                    stat = posix.stat(name, dir_fd=directory, follow_symlinks=False)
                    if stat.st_mode & FORMAT == REGULAR:
                        rows.append(row_of(path, stat))
            except OSError:
                continue
        closed(directory)
        return rows


class FirstPaths:
    """The first of many paths in their order. Never holds more than a few pages of them."""

    def __init__(self, count):
        self.count = count
        self.most = 2 * max(count, 1000)
        self.found = []
        self.last = None  # no later path can be among the first

    def wants(self, path):
        return self.last is None or path < self.last

    def add(self, path):
        self.found.append(path)
        if len(self.found) >= self.most:
            self.sorted()

    def sorted(self):
        self.found.sort()
        del self.found[self.count :]
        if len(self.found) == self.count:
            self.last = self.found[-1]
        return self.found


def row_of(path, stat):
    """Without a version if the next change may have the same one."""
    row = dict(facts_of(stat), path=path)
    if is_settling(stat):
        del row["version"]
    return row


def closed(descriptor):
    if descriptor is not None:
        posix.close(descriptor)


def is_usable(path):
    """Whether the host can name it. Names that are not UTF-8 have surrogates in place of their bytes."""
    if path.isascii():
        return len(path) <= MAX_PATH_BYTES
    try:
        return len(path.encode()) <= MAX_PATH_BYTES
    except UnicodeEncodeError:
        return False
