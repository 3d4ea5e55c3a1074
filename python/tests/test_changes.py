import os
import shutil
import sys
import tempfile
import unittest

if sys.platform == "linux":
    from codecell_kernel.supervisor.changes import Changes, WalkedChanges, row_of


@unittest.skipUnless(sys.platform == "linux", "inotify exists only on Linux")
class ChangedFiles(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text="x"):
        full = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w") as file:
            file.write(text)

    def taken(self, changes):
        rows, complete = changes.take(1000)
        self.assertTrue(complete)
        return [row["path"] for row in rows]

    def test_files_that_existed_before_are_not_reported(self):
        self.write("old.txt")
        changes = Changes(self.root)
        self.write("new.txt", "four")
        rows, _ = changes.take(10)
        self.assertEqual([(row["path"], row["size"]) for row in rows], [("new.txt", 4)])

    def test_times_and_sizes_that_the_host_does_not_take_are_bounded(self):
        for kind in (Changes, WalkedChanges):
            changes = kind(self.root)
            for name, seconds in (("past", -1000), ("future", 1 << 62)):
                self.write(kind.__name__ + name)
                os.utime(os.path.join(self.root, kind.__name__ + name), (seconds, seconds))
            rows, _ = changes.take(10)
            self.assertEqual([row["modifiedMs"] for row in rows if "past" in row["path"]], [0])
            self.assertTrue(all(0 <= row["modifiedMs"] < 1 << 53 for row in rows), rows)
        row = row_of("huge", 1 << 62, 1 << 80)
        self.assertEqual(row, {"path": "huge", "size": (1 << 53) - 1, "modifiedMs": (1 << 53) - 1})

    def test_each_change_is_reported_once(self):
        changes = Changes(self.root)
        self.write("a")
        self.assertEqual(self.taken(changes), ["a"])
        self.assertEqual(self.taken(changes), [])
        self.write("a", "again")
        self.assertEqual(self.taken(changes), ["a"])

    def test_files_in_new_nested_directories_are_found(self):
        changes = Changes(self.root)
        self.write("deep/er/file")
        changes.drain()
        self.write("deep/er/later")
        self.assertEqual(self.taken(changes), ["deep/er/file", "deep/er/later"])

    def test_a_moved_file_is_reported_under_its_new_name(self):
        self.write("before")
        changes = Changes(self.root)
        os.rename(os.path.join(self.root, "before"), os.path.join(self.root, "after"))
        self.assertEqual(self.taken(changes), ["after"])

    def test_a_directory_that_is_gone_when_it_is_looked_at_ends_nothing(self):
        changes = Changes(self.root)
        self.assertTrue(changes.is_cover(os.path.join(self.root, "gone").encode()))

    def test_deleted_files_symlinks_and_pipes_are_not_reported(self):
        changes = Changes(self.root)
        self.write("gone")
        os.remove(os.path.join(self.root, "gone"))
        os.symlink("/etc/passwd", os.path.join(self.root, "link"))
        os.mkfifo(os.path.join(self.root, "pipe"))
        self.assertEqual(self.taken(changes), [])

    def test_symlinks_to_directories_are_not_followed(self):
        outside = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, outside)
        with open(os.path.join(outside, "secret"), "w") as file:
            file.write("x")
        changes = Changes(self.root)
        os.symlink(outside, os.path.join(self.root, "door"))
        with open(os.path.join(outside, "secret"), "w") as file:
            file.write("y")
        self.assertEqual(self.taken(changes), [])

    def test_a_list_over_the_limit_is_reported_as_incomplete(self):
        changes = Changes(self.root)
        for number in range(20):
            self.write("f%d" % number)
        rows, complete = changes.take(5)
        self.assertEqual((len(rows), complete), (5, False))


if __name__ == "__main__":
    unittest.main()
