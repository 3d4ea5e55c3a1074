import os
import sys
import tempfile
import unittest

if sys.platform == "linux":
    from codecell_kernel.entry.memory_files import FilesOf, MemoryFiles, unescaped


@unittest.skipUnless(sys.platform == "linux" and os.path.isdir("/dev/shm"), "/dev/shm exists only on Linux")
class FilesInMemory(unittest.TestCase):
    def setUp(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm is not writable")

    def test_a_file_counts_as_soon_as_it_has_content(self):
        files = MemoryFiles([], 1 << 20)
        if "/dev/shm" not in files.mounts.values():
            self.skipTest("/dev/shm is not a separate file system here")
        before = files.bytes()
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            file.write(bytes(4 << 20))
            file.flush()
            self.assertGreaterEqual(files.bytes() - before, 3 << 20)  # other programs may use it too
        self.assertTrue(all(os.path.isdir(path) for path in files.mounts.values()))

    def test_the_file_system_of_a_host_directory_does_not_count(self):
        self.assertNotIn(os.stat("/dev/shm").st_dev, MemoryFiles(["/dev/shm"], 0).mounts)

    def test_one_file_system_is_over_its_limit_by_its_bytes_or_by_its_entries(self):
        used, entries = FilesOf("/dev/shm", 0).used()
        if not entries or "/dev/shm" not in MemoryFiles([], 0).mounts.values():
            self.skipTest("/dev/shm is not a separate file system here")
        files = FilesOf("/dev/shm", used + (1 << 20))
        self.assertFalse(files.are_over())
        with tempfile.TemporaryFile(dir="/dev/shm") as file:  # it has no name
            file.write(bytes(4 << 20))
            file.flush()
            self.assertTrue(files.are_over())
        few = FilesOf("/dev/shm", used + 20 * 4096)
        self.assertFalse(few.are_over(20))
        self.assertTrue(few.are_over(used // 4096 + 22))
        with tempfile.TemporaryDirectory(dir="/dev/shm") as directory:
            for number in range(used // 4096 + 40):
                open(os.path.join(directory, str(number)), "w").close()
            self.assertTrue(few.are_over())

    def test_escaped_mount_paths_are_decoded(self):
        self.assertEqual(unescaped("/a\\040b\\134c"), "/a b\\c")
