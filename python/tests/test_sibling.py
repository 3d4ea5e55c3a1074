import os
import sys
import threading
import unittest

import _ctypes

from codecell_kernel.worker import sibling
from codecell_kernel.worker.sibling import SiblingFork


def in_child(test):
    """Runs `test` in a process whose parent is this one, and returns what it wrote into its pipe."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            test(write)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    os.waitpid(pid, 0)
    return text


def say_where_the_sibling_is(write):
    pid, forks = SiblingFork()()
    if pid == 0:
        os.write(write, ("%d %d" % (os.getppid(), forks)).encode())
        os._exit(0)
    try:
        os.wait()
        os.write(write, b"; the one that forked has a child")
    except ChildProcessError:
        pass


@unittest.skipUnless(sys.platform == "linux", "needs clone")
class SiblingForkTest(unittest.TestCase):
    def test_takes_one_fork_and_gives_the_new_process_the_parent_of_the_old_one(self):
        self.assertEqual(in_child(say_where_the_sibling_is), "%d 1" % os.getpid())
        os.wait()  # it is ours now

    def test_knows_that_another_thread_makes_one_fork_unsafe(self):
        self.assertTrue(sibling.is_only_thread())
        go_on = threading.Event()
        thread = threading.Thread(target=go_on.wait)
        thread.start()
        try:
            self.assertFalse(sibling.is_only_thread())
        finally:
            go_on.set()
            thread.join()

    def test_gives_the_c_library_the_new_threads_number(self):
        def say_whose_number_it_is(write):
            pid, _ = SiblingFork()()
            if pid == 0:
                kept = Int.from_address(sibling.thread_number_address()).value
                os.write(write, b"its own" if kept == os.getpid() else b"another's")
                os._exit(0)

        self.assertEqual(in_child(say_whose_number_it_is), "its own")
        os.wait()


class Int(_ctypes._SimpleCData):
    _type_ = "i"


if __name__ == "__main__":
    unittest.main()
