import os
import sys
import tempfile
import unittest

if sys.platform == "linux":
    from codecell_kernel.entry import jail

UNSHARE_USER_AND_MOUNTS = 0x10000000 | 0x00020000


def may_mount():
    """Enters new namespaces. False if this machine does not allow mounting in them."""
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
    """The repr of what the body returns in a child that may mount, or None if this machine does not allow it."""
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


@unittest.skipUnless(sys.platform == "linux", "namespaces exist only on Linux")
class ReadOnlyMounts(unittest.TestCase):
    def test_mounts_below_a_read_only_mount_become_read_only_and_hidden_ones_do_not_fail(self):
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
                paths = [target + "/" + path for path in ("", "disk/", "disk/below/", "a b\r\u00a0c/", "hidden/")]
                before = [can_write(path + "x") for path in paths]
                jail.close_below(target)
                return before, [can_write(path + "y") for path in paths]

            answer = in_namespace(attempt)
            if answer is None:
                self.skipTest("this machine does not allow mounts in user namespaces")
            self.assertEqual(answer, repr(([False, True, True, True, True], [False] * 5)))
