import os
import signal
import time
import unittest
from unittest import mock

from codecell_kernel.measure import usage
from codecell_kernel.measure.usage import Usage


class FakeSweeper:
    """Leaves out the processes that it is given."""

    def __init__(self, *left_out):
        self.left_out = set(left_out)

    def kept(self, workers):
        assert not workers
        return self.left_out


class FakeLimits:
    memory_bytes = 1 << 40
    most_bytes = 5 << 30


class UsageOfProcesses(unittest.TestCase):
    def setUp(self):
        self.child = os.fork()
        if self.child == 0:
            hog = bytearray(b"x") * (32 << 20)  # noqa: F841
            end = time.process_time() + 0.2
            while time.process_time() < end:
                pass
            while True:
                signal.pause()
        self.addCleanup(self.end)
        self.processes = mock.patch.object(usage, "pids", lambda: [os.getpid(), self.child])
        self.memory = mock.patch("codecell_kernel.measure.memory.pids", lambda: [os.getpid(), self.child])

    def end(self):
        if self.child:
            os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            self.child = 0

    def measured(self, found, enough):
        """Measures until the child has done its work."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with self.processes, self.memory:
                told = found.measure()
            if enough(told):
                return told
        self.fail("the child did not get that far: %r" % told)

    def test_counts_time_and_memory_of_living_processes_and_keeps_the_time_of_dead_ones(self):
        found = Usage(FakeSweeper(os.getpid()), None)
        told = self.measured(found, lambda told: told["cpuMs"] >= 200 and told["memoryBytes"] >= 32 << 20)
        self.assertEqual(told["t"], "usage")
        self.assertGreaterEqual(told["peakMemoryBytes"], told["memoryBytes"])
        self.end()
        with mock.patch.object(usage, "pids", lambda: [os.getpid()]), mock.patch(
            "codecell_kernel.measure.memory.pids", lambda: [os.getpid()]
        ):
            after = found.measure()
        self.assertGreaterEqual(after["cpuMs"], told["cpuMs"])
        self.assertEqual(after["memoryBytes"], 0)
        self.assertEqual(after["peakMemoryBytes"], told["peakMemoryBytes"])

    def test_the_peak_includes_what_the_limits_have_seen_between_two_questions(self):
        with self.processes, self.memory:
            self.assertEqual(Usage(FakeSweeper(), FakeLimits()).measure()["peakMemoryBytes"], 5 << 30)

    def test_time_that_no_process_reports_any_more_does_not_make_the_sum_fall(self):
        found = Usage(FakeSweeper(), None)
        with self.processes, self.memory:
            with mock.patch.object(found, "processor_ms", lambda: 700):
                self.assertEqual(found.measure()["cpuMs"], 700)
            with mock.patch.object(found, "processor_ms", lambda: 300):
                self.assertEqual(found.measure()["cpuMs"], 700)


if __name__ == "__main__":
    unittest.main()
