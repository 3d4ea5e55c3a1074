"""The files beside a program: links in the working directory to a read-only directory, and entries of the import path.

With links, a relative name finds an input file, and a new file is written to the workspace. They exist during one run.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import sys

WORKSPACE = "/workspace/"
MOST_LINKS = 5_000


class Neighbours:
    def __init__(self, directory, path, workspace=WORKSPACE):
        """directory: what the links lead to; None: the files are in the workspace itself"""
        self.directory = directory
        self.path = list(path)
        self.workspace = workspace
        self.links = {}

    def enter(self):
        sys.path[1:1] = self.path  # after the working directory
        for name in self.names():
            target = self.directory + "/" + name
            try:
                posix.symlink(target, self.workspace + name)
            except OSError:
                if not self.leads_to(name, target):  # a file of the session has this name, or the disk is full
                    continue
            self.links[name] = target

    def leave(self):
        """Removes what is still there: the program may have replaced a link by a file of its own."""
        for name, target in self.links.items():
            if self.leads_to(name, target):
                try:
                    posix.unlink(self.workspace + name)
                except OSError:
                    pass
        for entry in self.path:
            if entry in sys.path:
                sys.path.remove(entry)

    def names(self):
        if self.directory is None:
            return ()
        try:
            return sorted(posix.listdir(self.directory))[:MOST_LINKS]
        except OSError as error:  # as root, a cell has another user, who may enter the directory but not list it
            print("codecell: the project's files cannot be listed: %s" % error.strerror, file=sys.stderr)
            return ()

    def leads_to(self, name, target):
        try:
            return posix.readlink(self.workspace + name) == target
        except OSError:
            return False
