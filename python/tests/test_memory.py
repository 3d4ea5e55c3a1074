import unittest
from unittest import mock

from codecell_kernel.measure import memory


class Memory(unittest.TestCase):
    def sum_of(self, statuses, limit, meminfo=b""):
        def read(pid, name):
            return meminfo if name == "meminfo" else statuses.get(pid, b"")

        with mock.patch.object(memory, "pids", lambda: list(statuses)), mock.patch.object(
            memory, "read_proc", read
        ):
            return memory.resident_bytes({1}, limit)

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
            with mock.patch.object(memory, "pids", lambda: [2, 3, 4]), mock.patch.object(
                memory, "read_proc", lambda pid, name: files[name].get(pid, b"")
            ), mock.patch.object(memory, "SHARED_SECONDS", seconds), mock.patch.object(
                memory, "SHARED_WAIT_SECONDS", wait
            ):
                return memory.resident_bytes(set(), limit)

        self.assertEqual(total(300 << 10), 300 << 10)
        self.assertEqual(total(250 << 10), 162 << 10)  # a process that hides the file counts in full
        self.assertGreater(total(50 << 10), 50 << 10)
        self.assertEqual(total(250 << 10, seconds=-1.0), 300 << 10)
        self.assertEqual(total(250 << 10, wait=-1.0), 300 << 10)

    def test_a_machine_that_lets_the_supervisor_wait_does_not_stop_the_count_of_shared_pages(self):
        times = iter(range(100))  # a quarter of the longest wait passes at each look at the clock, and no processor time
        clock = lambda: next(times) * memory.SHARED_WAIT_SECONDS / 4  # noqa: E731
        rollup = b"Pss_Anon:\t 30 kB\n"
        with mock.patch.object(memory, "pids", lambda: [2, 3]), mock.patch.object(
            memory, "read_proc", lambda pid, name: rollup
        ), mock.patch.object(memory, "monotonic", clock), mock.patch.object(memory, "process_time", lambda: 0.0):
            self.assertEqual(memory.shared_once(1 << 30, 7), 60 << 10)

    def test_a_process_that_is_gone_does_not_count(self):
        self.assertEqual(self.sum_of({2: b""}, 0), 0)


if __name__ == "__main__":
    unittest.main()
