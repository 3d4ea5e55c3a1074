import os
import sys
import tempfile
import unittest

if sys.platform == "linux":
    from codecell_kernel.entry.memory_files import MemoryFiles, unescaped


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

    def test_escaped_mount_paths_are_decoded(self):
        self.assertEqual(unescaped("/a\\040b\\134c"), "/a b\\c")
