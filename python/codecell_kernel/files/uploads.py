"""Files that the host sends. Each is written under a name that listings hide, and renamed when it is complete."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import errno
import posix

from ..shared.unfinished import END, RANDOM_BYTES, START
from .workspace import STEP, Refused, parts_of

MAX_UPLOADS = 16  # at the same time: each holds a descriptor
PIECE = 1 << 20
NEW = posix.O_RDWR | posix.O_CREAT | posix.O_EXCL | posix.O_NOFOLLOW | posix.O_CLOEXEC


class Upload:
    def __init__(self, workspace):
        self.workspace = workspace
        self.draft = Draft(workspace.root)

    def write(self, data):
        write_all(self.draft.file, data)

    def place(self, path, want_room):
        """Gives the file its name and makes missing directories. A generator that returns what is known of the file then.

        `want_room` raises `Refused` if the disk is too full now."""
        parts = parts_of(path)
        opened, made = [posix.open(".", STEP, dir_fd=self.workspace.root)], []
        try:
            for part in parts[:-1]:
                if make_directory(part, opened[-1]):
                    made.append((opened[-1], part))
                    want_room()
                opened.append(posix.open(part, STEP, dir_fd=opened[-1]))
            if not self.workspace.is_own(opened[-1]):
                raise Refused("file_refused", "%s is in a directory that the policy mounts" % path)
            yield from self.rename(opened[-1], parts[-1], path)
            return posix.fstat(self.draft.file)
        except BaseException:
            for parent, part in reversed(made):
                remove_empty(part, parent)
            raise
        finally:
            for descriptor in opened:
                posix.close(descriptor)

    def rename(self, directory, name, path):
        posix.fchmod(self.draft.file, 0o644)
        try:
            try:
                self.draft.rename(directory, name)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                # Landlock keeps files in their directories under srt.
                yield from self.copy_to(directory, name)
        except FileNotFoundError:
            raise Refused("file_refused", "%s: the program removed the upload or its directory" % path) from None
        except IsADirectoryError:
            raise Refused("file_refused", "%s is a directory" % path) from None

    def copy_to(self, directory, name):
        copy, at = Draft(directory), 0
        try:
            while True:
                data = posix.pread(self.draft.file, PIECE, at)
                if not data:
                    break
                write_all(copy.file, data)
                at += len(data)
                yield
            posix.fchmod(copy.file, 0o644)
            copy.rename(directory, name)
        except BaseException:
            copy.drop()  # here, while its directory is open
            raise
        self.draft.drop()
        self.draft = copy

    def drop(self):
        self.draft.drop()


class Draft:
    """A file that is not complete, in a directory that the caller keeps open."""

    def __init__(self, directory):
        self.name = START + posix.urandom(RANDOM_BYTES).hex() + END
        self.directory = directory
        self.file = posix.open(self.name, NEW, 0o600, dir_fd=directory)

    def rename(self, directory, name):
        posix.rename(self.name, name, src_dir_fd=self.directory, dst_dir_fd=directory)

    def drop(self):
        """Empties it too: the program may have given it another name."""
        for undo in (lambda: posix.ftruncate(self.file, 0), lambda: posix.unlink(self.name, dir_fd=self.directory)):
            try:
                undo()
            except OSError:
                pass  # the program has already removed it
        self.close()

    def close(self):
        posix.close(self.file)


def write_all(file, data):
    view = memoryview(data)
    while view:
        view = view[posix.write(file, view) :]


def make_directory(name, parent):
    try:
        posix.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def remove_empty(name, parent):
    try:
        posix.rmdir(name, dir_fd=parent)
    except OSError:
        pass  # the program uses it
