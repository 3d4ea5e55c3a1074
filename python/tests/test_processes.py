import os
import unittest
from unittest import mock

from codecell_kernel.supervisor import processes
from codecell_kernel.supervisor.sweeper import Sweeper


class Started(unittest.TestCase):
    def test_an_os_that_does_not_count_processes_is_checked_every_time(self):
        with mock.patch.object(processes.posix, "pread", lambda *_: b"0.00 0.00 0.00 0/0 0\n"):
            new = processes.NewProcesses()
            self.addCleanup(os.close, new.fd)
            self.assertEqual([new.any(), new.any()], [True, True])

    def test_an_os_that_counts_processes_is_asked_for_the_latest_pid(self):
        with mock.patch.object(processes.posix, "pread", lambda *_: b"0.5 0.4 0.3 1/90 4711\n"):
            new = processes.NewProcesses()
            self.addCleanup(os.close, new.fd)
            self.assertEqual([new.any(), new.any()], [True, False])

    def test_the_first_run_is_swept_unless_only_it_and_the_supervisor_ever_existed(self):
        for own, worker, latest, swept in ((1, 2, 2, False), (1, 2, 3, True), (1, 3, 3, True), (7, 8, 8, True), (1, 2, 0, True)):
            with mock.patch.object(processes.posix, "pread", lambda *_: b"0 0 0 1/90 %d\n" % latest):
                new = processes.NewProcesses()
                self.addCleanup(os.close, new.fd)
                new.began(own, worker)
                self.assertEqual(new.any(), swept, (own, worker, latest))

    def test_a_process_of_the_first_run_is_noticed(self):
        latest = iter((2, 3))
        with mock.patch.object(processes.posix, "pread", lambda *_: b"0 0 0 1/90 %d\n" % next(latest)):
            new = processes.NewProcesses()
            self.addCleanup(os.close, new.fd)
            new.began(1, 2)
            self.assertTrue(new.any())


class Sweeping(unittest.TestCase):
    """A fake OS that reports its latest pid, and whose processes start when the test says so."""

    def setUp(self):
        self.latest = 4711
        pread = mock.patch.object(processes.posix, "pread", lambda *_: b"0 0 0 1/90 %d\n" % self.latest)
        pread.start()
        self.addCleanup(pread.stop)
        self.sweeper = Sweeper({})
        self.addCleanup(os.close, self.sweeper.new_processes.fd)

    def sweep(self, starts_after_look):
        def pids():
            self.latest += starts_after_look
            return [1]

        with mock.patch.object(processes, "pids", pids), mock.patch.object(Sweeper, "reap", lambda _: None):
            self.sweeper.sweep()

    def test_a_process_started_after_the_last_check_is_killed_after_the_next_run(self):
        self.sweep(starts_after_look=1)
        self.assertTrue(self.sweeper.new_processes.any())

    def test_no_second_sweep_happens_if_nothing_was_started(self):
        self.sweep(starts_after_look=0)
        self.assertFalse(self.sweeper.new_processes.any())


if __name__ == "__main__":
    unittest.main()
