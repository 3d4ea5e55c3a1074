import signal
import unittest
from unittest import mock

from codecell_kernel.supervisor import stopper
from codecell_kernel.supervisor.request import Request
from codecell_kernel.supervisor.stopper import Stopper


class FakeBranch:
    """A branch with one current run. Records what is sent to its worker."""

    def __init__(self):
        self.link = self
        self.pid, self.is_calming = 1000, False
        self.active = Request({"t": "run", "id": 1, "timeoutMs": 5000})


class Interrupts(unittest.TestCase):
    def setUp(self):
        self.branch = FakeBranch()
        self.stopper = Stopper(self.branch)
        self.sent = []
        self.now = 100.0
        for name, value in (
            ("signal_quietly", lambda pid, number: self.sent.append(number)),
            ("monotonic", lambda: self.now),
        ):
            patch = mock.patch.object(stopper, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.stopper.stop("interrupted", kill=False)

    def at(self, seconds):
        self.now = 100.0 + seconds
        self.stopper.on_time(self.now)
        return self.sent

    def test_an_unnoticed_interrupt_is_repeated_and_then_the_worker_is_killed(self):
        self.assertEqual(self.at(0.4), [signal.SIGINT])
        self.assertEqual(self.at(0.6), [signal.SIGINT] * 2)
        self.assertEqual(self.at(0.9), [signal.SIGINT] * 2)
        self.assertEqual(self.at(1.1), [signal.SIGINT] * 2 + [signal.SIGKILL])

    def test_a_swallowed_interrupt_is_repeated_once_before_the_kill(self):
        self.stopper.on_noticed()
        self.assertEqual(self.at(0.7), [signal.SIGINT])
        self.assertEqual(self.at(0.8), [signal.SIGINT] * 2)
        self.stopper.on_noticed()
        self.assertEqual(self.at(0.9), [signal.SIGINT] * 2)
        self.assertEqual(self.at(1.1), [signal.SIGINT] * 2 + [signal.SIGKILL])


if __name__ == "__main__":
    unittest.main()
