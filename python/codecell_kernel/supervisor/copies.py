"""Frozen copies of an interpreter: the automatic one for crashes, and the named ones for checkpoints."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001


class Copy:
    """A parked process. It uses the link that its interpreter had when the copy was made."""

    def __init__(self, pid, run, link):
        self.pid = pid
        self.run = run
        self.link = link


class Copies:
    def __init__(self, end):
        """end(pid) kills a copy that is no longer needed."""
        self.end = end
        self.automatic = None
        self.named = {}

    def all(self):
        return [copy for copy in (self.automatic, *self.named.values()) if copy is not None]

    def pids(self):
        return [copy.pid for copy in self.all()]

    def uses(self, link):
        return any(copy.link is link for copy in self.all())

    def set_automatic(self, copy):
        self.drop(self.automatic)
        self.automatic = copy

    def set_named(self, name, copy):
        self.drop(self.named.get(name))
        self.named[name] = copy

    def take_automatic(self):
        copy, self.automatic = self.automatic, None
        return copy

    def forget(self, name):
        self.drop(self.named.pop(name, None))

    def drop_all(self):
        for copy in self.all():
            self.drop(copy)
        self.automatic = None
        self.named.clear()

    def died(self, pid):
        """Removes a dead copy. Returns its name, "" for the automatic one, or None if no copy has this pid."""
        if self.automatic is not None and self.automatic.pid == pid:
            self.automatic = None
            return ""
        for name, copy in list(self.named.items()):
            if copy.pid == pid:
                del self.named[name]
                return name
        return None

    def drop(self, copy):
        if copy is not None:
            self.end(copy.pid)
