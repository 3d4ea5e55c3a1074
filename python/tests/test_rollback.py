import unittest

from codecell_kernel.supervisor.branch import Branch
from codecell_kernel.supervisor.copies import Copies, Copy
from codecell_kernel.supervisor.request import Request


class FakeLink:
    pid = 2**22 + 1  # no process has it
    dead = None

    def close(self):
        pass

    def resume(self, pid, seconds):
        return False


class Quiet:
    dirty = True

    def sweep(self, but):
        pass

    def spare(self, pid):
        pass


class Rollback(unittest.TestCase):
    def setUp(self):
        self.told = []
        self.branch = Branch.__new__(Branch)
        self.branch.copies = Copies(lambda pid: None)
        self.branch.sweeper = self.branch.copier = Quiet()
        self.branch.old_links = []
        self.branch.new_link = FakeLink
        self.branch.link = FakeLink()
        self.branch.tell = self.told.append
        self.branch.holds_values = True
        self.branch.runs = 5

    def test_a_rollback_to_a_copy_that_does_not_wake_says_that_the_state_is_lost(self):
        # Without it the host takes the empty interpreter for the newest state, and saves it over the last save.
        self.branch.copies.set_named("a", Copy(FakeLink.pid, 1, FakeLink()))
        self.branch.rollback(Request({"t": "rollback", "id": 9, "name": "a"}))
        [reply] = self.told
        self.assertEqual((reply["ok"], reply["code"], reply.get("state")), (False, "cell_lost", "lost"))
