import unittest

from codecell_kernel.supervisor.branch import Branch
from codecell_kernel.supervisor.copies import Copies, Copy


class FakeLink:
    pid = 2**22 + 1  # no process has it
    dead = None
    closed = 0

    def close(self):
        self.closed += 1


class Quiet:
    def sweep(self, but):
        pass


class Links(unittest.TestCase):
    """The supervisor's descriptors are limited: proc.files applies to it too."""

    def setUp(self):
        self.branch = Branch.__new__(Branch)
        self.branch.copies = Copies(lambda pid: None)
        self.branch.sweeper = Quiet()
        self.branch.old_links = []
        self.branch.new_link = FakeLink
        self.branch.link = self.first = FakeLink()

    def test_the_link_of_a_replaced_worker_is_closed_at_once_without_a_copy(self):
        self.branch.replace_worker()
        self.assertEqual(self.first.closed, 1)
        self.assertIsNot(self.branch.link, self.first)

    def test_the_link_of_a_copy_is_closed_after_the_copy_is_gone(self):
        self.branch.copies.set_named("a", Copy(7, 1, self.first))
        self.branch.replace_worker()
        self.assertEqual(self.first.closed, 0)
        self.branch.copies.forget("a")
        self.branch.replace_worker()
        self.assertEqual(self.first.closed, 1)
        self.branch.replace_worker()
        self.assertEqual(self.first.closed, 1)
        self.assertEqual(self.branch.old_links, [])

    def test_a_link_that_a_rollback_takes_again_stays_open(self):
        self.branch.copies.set_named("a", Copy(7, 1, self.first))
        self.branch.replace_worker()
        second = self.branch.link
        self.branch.copies.named.pop("a")
        self.branch.replace_worker(self.first)
        self.assertEqual((self.first.closed, second.closed), (0, 1))
        self.assertIs(self.branch.link, self.first)
