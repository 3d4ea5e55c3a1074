import os
import sys
import tempfile
import unittest

if sys.platform == "linux":
    from codecell_kernel.entry import jail

UNSHARE_USER_AND_MOUNTS = 0x10000000 | 0x00020000


def may_mount():
    """In namespaces of its own; some machines give them, and no right in them."""
    uid, gid = os.getuid(), os.getgid()
    if jail.LIBC.unshare(UNSHARE_USER_AND_MOUNTS) != 0:
        return False
    try:
        jail.write_file("/proc/self/setgroups", "deny")
        jail.write_file("/proc/self/uid_map", "0 %d 1" % uid)
        jail.write_file("/proc/self/gid_map", "0 %d 1" % gid)
        jail.mount(None, "/", None, jail.RECURSIVE | jail.PRIVATE)
    except PermissionError:
        return False
    return True


def in_namespace(body):
    """What the body answers with, as a child that may mount; None: this machine lets nobody do so."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        answer = b"-"
        try:
            if may_mount():
                answer = repr(body()).encode()
        except BaseException as error:
            answer = repr(error).encode()
        finally:
            os.write(writing, answer)
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answers:
        answer = answers.read().decode()
    os.waitpid(child, 0)
    return None if answer == "-" else answer


def can_write(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
    except OSError:
        return False
    return True


@unittest.skipUnless(sys.platform == "linux", "namespaces are Linux's")
class ReadOnlyMounts(unittest.TestCase):
    def test_what_was_mounted_below_is_read_only_too_and_what_is_hidden_does_not_matter(self):
        with tempfile.TemporaryDirectory() as directory:
            for path in ("source/disk/below", "source/a b\r\u00a0c", "source/hidden", "target"):
                os.makedirs(os.path.join(directory, path))
            source, target = directory + "/source", directory + "/target"

            def attempt():
                for path, options in (("disk", 0), ("a b\r\u00a0c", jail.NOEXEC), ("hidden", 0)):
                    jail.mount("tmpfs", source + "/" + path, "tmpfs", options)
                for path in ("disk/below", "hidden/gone", "hidden/file"):
                    os.makedirs(source + "/" + path)
                    jail.mount("tmpfs", source + "/" + path, "tmpfs")
                jail.mount("tmpfs", source + "/hidden", "tmpfs")
                os.mkdir(source + "/hidden/file")
                jail.bind(source, target, jail.READ_ONLY)
                places = [target + "/" + path for path in ("", "disk/", "disk/below/", "a b\r\u00a0c/", "hidden/")]
                before = [can_write(path + "x") for path in places]
                jail.close_below(target)
                return before, [can_write(path + "y") for path in places]

            answer = in_namespace(attempt)
            if answer is None:
                self.skipTest("no user namespaces here")
            self.assertEqual(answer, repr(([False, True, True, True, True], [False] * 5)))
