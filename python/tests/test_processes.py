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

    def test_anonymous_memory_of_all_processes_counts_except_excluded_ones(self):
        status = b"Name:\tx\nVmRSS:\t 900 kB\nRssAnon:\t 100 kB\nRssFile:\t 800 kB\nRssShmem:\t 10 kB\n"
        self.assertEqual(self.sum_of({1: status, 2: status, 3: status}, 1 << 30), 220 << 10)

    def test_all_resident_memory_counts_if_the_os_does_not_report_anonymous_memory(self):
        self.assertEqual(self.sum_of({1: b"VmRSS:\t7 kB\n", 2: b"VmRSS:\t900 kB\n"}, 1 << 30), 900 << 10)

    def test_the_total_of_the_os_is_used_if_shared_pages_may_have_counted_twice(self):
        statuses = {2: b"VmRSS:\t900 kB\n", 3: b"VmRSS:\t900 kB\n"}
        meminfo = b"MemTotal:  9000 kB\nAnonPages:  950 kB\n"
        self.assertEqual(self.sum_of(statuses, 1000 << 10, meminfo), 950 << 10)
        self.assertEqual(self.sum_of(statuses, 1000 << 10), 1800 << 10)

    def test_pages_that_forks_share_count_once_if_the_sum_is_over_the_limit(self):
        status, rollup = b"RssAnon:\t 100 kB\n", b"Rss:\t 900 kB\nPss_Anon:\t 30 kB\nPss_Shmem:\t 1 kB\n"
        files = {"status": {2: status, 3: status, 4: status}, "smaps_rollup": {2: rollup, 3: rollup}}

        def total(limit, seconds=1.0, wait=1.0):
            with mock.patch.object(processes, "pids", lambda: [2, 3, 4]), mock.patch.object(
                processes, "read_proc", lambda pid, name: files[name].get(pid, b"")
            ), mock.patch.object(processes, "SHARED_SECONDS", seconds), mock.patch.object(
                processes, "SHARED_WAIT_SECONDS", wait
            ):
                return processes.resident_bytes(set(), limit)

        self.assertEqual(total(300 << 10), 300 << 10)
        self.assertEqual(total(250 << 10), 162 << 10)  # a process that hides the file counts in full
        self.assertGreater(total(50 << 10), 50 << 10)
        self.assertEqual(total(250 << 10, seconds=-1.0), 300 << 10)
        self.assertEqual(total(250 << 10, wait=-1.0), 300 << 10)

    def test_a_machine_that_lets_the_supervisor_wait_does_not_stop_the_count_of_shared_pages(self):
        times = iter(range(100))  # a quarter of the longest wait passes at each look at the clock, and no processor time
        clock = lambda: next(times) * processes.SHARED_WAIT_SECONDS / 4  # noqa: E731
        rollup = b"Pss_Anon:\t 30 kB\n"
        with mock.patch.object(processes, "pids", lambda: [2, 3]), mock.patch.object(
            processes, "read_proc", lambda pid, name: rollup
        ), mock.patch.object(processes, "monotonic", clock), mock.patch.object(processes, "process_time", lambda: 0.0):
            self.assertEqual(processes.shared_once(1 << 30, 7), 60 << 10)

    def test_a_process_that_is_gone_does_not_count(self):
        self.assertEqual(self.sum_of({2: b""}, 0), 0)


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
