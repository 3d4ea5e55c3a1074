import os
import unittest
from unittest import mock

from codecell_kernel.supervisor import processes
from codecell_kernel.supervisor.sweeper import Sweeper


class Memory(unittest.TestCase):
    def sum_of(self, statuses, limit, meminfo=b""):
        def read(pid, name):
            return meminfo if name == "meminfo" else statuses.get(pid, b"")

        with mock.patch.object(processes, "pids", lambda: list(statuses)), mock.patch.object(
            processes, "read_proc", read
        ):
            return processes.resident_bytes({1}, limit)

    def test_counts_what_is_in_no_file_of_each_process_but_those_left_out(self):
        status = b"Name:\tx\nVmRSS:\t 900 kB\nRssAnon:\t 100 kB\nRssFile:\t 800 kB\nRssShmem:\t 10 kB\n"
        self.assertEqual(self.sum_of({1: status, 2: status, 3: status}, 1 << 30), 220 << 10)

    def test_counts_whole_processes_where_the_kernel_tells_no_more(self):
        self.assertEqual(self.sum_of({1: b"VmRSS:\t7 kB\n", 2: b"VmRSS:\t900 kB\n"}, 1 << 30), 900 << 10)

    def test_asks_that_kernel_for_its_own_sum_when_pages_may_have_counted_twice(self):
        statuses = {2: b"VmRSS:\t900 kB\n", 3: b"VmRSS:\t900 kB\n"}
        meminfo = b"MemTotal:  9000 kB\nAnonPages:  950 kB\n"
        self.assertEqual(self.sum_of(statuses, 1000 << 10, meminfo), 950 << 10)
        self.assertEqual(self.sum_of(statuses, 1000 << 10), 1800 << 10)

    def test_a_process_that_is_gone_counts_nothing(self):
        self.assertEqual(self.sum_of({2: b""}, 0), 0)


class Started(unittest.TestCase):
    def test_a_kernel_that_does_not_count_processes_is_looked_at_each_time(self):
        with mock.patch.object(processes.posix, "pread", lambda *_: b"0.00 0.00 0.00 0/0 0\n"):
            new = processes.NewProcesses()
            self.addCleanup(os.close, new.fd)
            self.assertEqual([new.any(), new.any()], [True, True])

    def test_a_kernel_that_does_is_asked_for_a_number(self):
        with mock.patch.object(processes.posix, "pread", lambda *_: b"0.5 0.4 0.3 1/90 4711\n"):
            new = processes.NewProcesses()
            self.addCleanup(os.close, new.fd)
            self.assertEqual([new.any(), new.any()], [True, False])


class Sweeping(unittest.TestCase):
    """A kernel that is asked for its latest number, and whose processes start when the test says so."""

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

    def test_what_a_thread_started_after_the_last_look_is_found_at_the_next_end_of_a_run(self):
        self.sweep(starts_after_look=1)
        self.assertTrue(self.sweeper.new_processes.any())

    def test_nothing_is_looked_for_again_when_nothing_was_started(self):
        self.sweep(starts_after_look=0)
        self.assertFalse(self.sweeper.new_processes.any())


if __name__ == "__main__":
    unittest.main()
