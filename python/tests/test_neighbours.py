import os
import sys
import tempfile
import unittest

from codecell_kernel.worker.neighbours import Neighbours


class NeighboursTest(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.TemporaryDirectory()
        self.addCleanup(self.root.cleanup)
        self.project, self.workspace = self.root.name + "/project", self.root.name + "/workspace/"
        os.mkdir(self.project)
        os.mkdir(self.workspace)
        for name in ("a.csv", "b.csv"):
            self.write(self.project + "/" + name, "project")
        self.path = list(sys.path)

    def write(self, path, text):
        with open(path, "w") as file:
            file.write(text)

    def read(self, name):
        with open(self.workspace + name) as file:
            return file.read()

    def neighbours(self, **more):
        return Neighbours(self.project, [self.project], self.workspace, **more)

    def test_links_exist_during_the_run_only(self):
        neighbours = self.neighbours()
        neighbours.enter()
        self.assertEqual(self.read("a.csv"), "project")
        self.assertEqual(sys.path[1], self.project)
        neighbours.leave()
        self.assertEqual(os.listdir(self.workspace), [])
        self.assertEqual(sys.path, self.path)

    def test_files_of_the_workspace_win_and_stay(self):
        self.write(self.workspace + "a.csv", "mine")
        neighbours = self.neighbours()
        neighbours.enter()
        self.assertEqual(self.read("a.csv"), "mine")
        os.unlink(self.workspace + "b.csv")
        self.write(self.workspace + "b.csv", "written by the run")
        neighbours.leave()
        self.assertEqual((self.read("a.csv"), self.read("b.csv")), ("mine", "written by the run"))

    def test_links_that_a_killed_run_left_are_used_and_removed(self):
        self.neighbours().enter()
        neighbours = self.neighbours()
        neighbours.enter()
        self.assertEqual(self.read("a.csv"), "project")
        neighbours.leave()
        self.assertEqual(os.listdir(self.workspace), [])
        sys.path[:] = self.path

    def test_without_a_directory_only_the_import_path_changes(self):
        neighbours = Neighbours(None, ["/workspace/src"], self.workspace)
        neighbours.enter()
        self.assertEqual((os.listdir(self.workspace), sys.path[1]), ([], "/workspace/src"))
        neighbours.leave()
        self.assertEqual(sys.path, self.path)


if __name__ == "__main__":
    unittest.main()
