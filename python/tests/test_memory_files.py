import os
import sys
import tempfile
import unittest

if sys.platform == "linux":
    from codecell_kernel.entry.memory_files import MemoryFiles, unescaped


@unittest.skipUnless(sys.platform == "linux" and os.path.isdir("/dev/shm"), "/dev/shm is Linux's")
class FilesInMemory(unittest.TestCase):
    def setUp(self):
        if not os.access("/dev/shm", os.W_OK):
            self.skipTest("/dev/shm cannot be written")

    def test_a_file_counts_from_the_moment_it_has_content(self):
        files = MemoryFiles([], 1 << 20)
        if "/dev/shm" not in files.mounts.values():
            self.skipTest("/dev/shm is no file system of its own here")
        before = files.bytes()
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            file.write(bytes(4 << 20))
            file.flush()
            self.assertGreaterEqual(files.bytes() - before, 3 << 20)  # others may use it meanwhile
        self.assertTrue(all(os.path.isdir(path) for path in files.mounts.values()))

    def test_the_file_system_of_a_given_directory_is_not_counted(self):
        self.assertNotIn(os.stat("/dev/shm").st_dev, MemoryFiles(["/dev/shm"], 0).mounts)

    def test_names_with_blanks_are_read_as_the_kernel_writes_them(self):
        self.assertEqual(unescaped("/a\\040b\\134c"), "/a b\\c")
