import os
import shutil
import sys
import tempfile
import threading
import unittest
from types import SimpleNamespace

from codecell_kernel.shared.frames import Decoder
from codecell_kernel.shared.lean_json import loads

if sys.platform == "linux":
    from codecell_kernel.files import listing, served_files, workspace
    from codecell_kernel.files.served_files import ServedFiles
    from codecell_kernel.files.workspace import facts_of
    from codecell_kernel.supervisor.changes import Changes


class Outlet:
    """Keeps what the host would get. `size` stands for what it has not read yet."""

    def __init__(self):
        self.data = b""
        self.size = 0

    def write(self, *parts):
        self.data += b"".join(bytes(part) for part in parts)


class Host:
    """Asks for files of a directory and works off the answers, as the supervisor's loop does."""

    def __init__(self, root):
        self.outlet = Outlet()
        self.placed = []
        self.slices = 0
        descriptor = os.open(root, os.O_PATH | os.O_DIRECTORY)
        self.room = 1 << 20  # for so many entries; less than none: the files are too large already
        count = lambda: sum(len(directories) + len(files) for _, directories, files in os.walk(root))
        has_room = lambda entries: count() + entries <= self.room
        self.files = ServedFiles(descriptor, self.outlet, lambda path, stat: self.placed.append(path), has_room)
        self.ids = 0

    def send(self, kind, **fields):
        self.ids += 1
        header = dict({"t": "file." + kind, "id": self.ids, "timeoutMs": 10_000}, **fields)
        self.files.on_request(header)
        return header

    def work(self):
        while self.files.can_work:
            self.files.work()
            self.slices += 1

    def messages(self):
        data, self.outlet.data = self.outlet.data, b""
        return [(header, bytes(body)) for header, body, _ in Decoder().feed(data)]

    def ask(self, kind, **fields):
        """(reply, data)."""
        self.send(kind, **fields)
        self.work()
        messages = self.messages()
        return messages[-1][0], b"".join(body for header, body in messages if header["t"] == "data")

    def read(self, path, start=0, end=1 << 40):
        return self.ask("read", path=path, start=start, end=end)

    def list(self, prefix="", after="", limit=10_000):
        reply, data = self.ask("list", prefix=prefix, after=after, limit=limit)
        return loads(data.decode()) if reply["ok"] else reply

    def upload(self, number, data, path, **fields):
        header = self.send("write", upload=number, size=len(data), **fields)
        self.files.take_data(header.get("branch", 0), header["id"], data)
        self.messages()
        return self.ask("place", upload=number, path=path, **fields)[0]


def outcome(reply):
    return True if reply["ok"] else reply["code"]


def same_hash(before, after):
    """`after` with a time of last modification that makes the hash of its facts that of `before`."""
    most, prime_1, prime_2 = (1 << 64) - 1, 11400714785074694791, 14029467366897019727

    def mixed(stat):
        state = 2870177450012600261
        for fact in (stat.st_dev, stat.st_ino, stat.st_ctime_ns):
            state = (state + hash(fact) * prime_2) & most
            state = ((state << 31 | state >> 33) * prime_1) & most
        return state

    for _ in range(200):
        time = (before.st_mtime_ns + (mixed(before) - mixed(after)) * pow(prime_2, -1, 1 << 64)) & most
        modified = time if time < 1 << 63 else time - (1 << 64)
        if hash(modified) == modified:
            return SimpleNamespace(**dict(vars(after), st_mtime_ns=modified))
        after = SimpleNamespace(**dict(vars(after), st_ctime_ns=after.st_ctime_ns + 1))
    raise AssertionError("there is no such time")


@unittest.skipUnless(sys.platform == "linux", "the supervisor runs on Linux")
class ServedFilesTest(unittest.TestCase):
    def setUp(self):
        self.outside = tempfile.mkdtemp()
        self.root = os.path.join(self.outside, "workspace")
        os.mkdir(self.root)
        self.addCleanup(shutil.rmtree, self.outside)
        self.host = Host(self.root)
        self.addCleanup(os.close, self.host.files.workspace.root)

    def path(self, name):
        return os.path.join(self.root, name)

    def write(self, name, data=b"x"):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(data)

    def descriptors(self):
        return len(os.listdir("/proc/self/fd"))


class Reading(ServedFilesTest):
    def test_a_range_of_a_file_is_sent_in_pieces_with_the_facts_of_the_whole(self):
        data = os.urandom(700_000)
        self.write("a/b", data)
        reply, received = self.host.read("a/b", 5, 650_000)
        self.assertEqual(received, data[5:650_000])
        self.assertEqual((reply["file"]["size"], reply["file"]["holes"]), (700_000, 0))

    def test_no_time_that_a_program_can_set_brings_back_the_version_of_old_content(self):
        now = 1_800_000_000_000_000_000
        before = SimpleNamespace(st_dev=2049, st_ino=77, st_ctime_ns=now, st_mtime_ns=-5_000, st_size=9)
        after = same_hash(before, SimpleNamespace(**dict(vars(before), st_ctime_ns=now + 3_000_000_000)))
        self.assertNotEqual(facts_of(before)["version"], facts_of(after)["version"])
        longest = SimpleNamespace(**{name: -(1 << 63) for name in vars(before)})
        self.assertLessEqual(len(facts_of(longest)["version"]), 128)

    def test_a_file_that_was_changed_just_now_is_settling_whatever_time_the_program_sets(self):
        self.write("a")
        os.utime(self.path("a"), (5, 5))
        changed = os.stat(self.path("a")).st_ctime_ns
        self.addCleanup(setattr, workspace, "time_ns", workspace.time_ns)
        for later, expected in ((10**6, True), (10**9, False)):
            workspace.time_ns = lambda: changed + later
            self.assertIs(self.host.read("a")[0]["file"]["settling"], expected)

    def test_the_version_changes_with_the_content_even_if_the_program_sets_the_time_back(self):
        self.write("a", b"one")
        stat = os.stat(self.path("a"))
        before = self.host.read("a")[0]["file"]
        while os.stat(self.path("a")).st_ctime_ns == stat.st_ctime_ns:  # the clock of the file system ticks now and then
            self.write("a", b"two")
        os.utime(self.path("a"), ns=(stat.st_atime_ns, stat.st_mtime_ns))
        after = self.host.read("a")[0]["file"]
        self.assertEqual((before["size"], before["modifiedMs"]), (after["size"], after["modifiedMs"]))
        self.assertNotEqual(before["version"], after["version"])

    def test_links_pipes_sockets_directories_and_paths_that_lead_up_are_refused(self):
        self.write("../secret")
        os.mkdir(self.path("dir"))
        os.symlink(self.outside, self.path("up"))
        os.symlink("../secret", self.path("link"))
        os.mkfifo(self.path("pipe"))
        for name in ("up/secret", "link", "pipe", "dir", "../secret", "dir/../../secret", "/etc/passwd", "", "a\0b"):
            with self.subTest(name):
                self.assertEqual(outcome(self.host.read(name)[0]), "file_refused")
        self.assertEqual(outcome(self.host.read("nothing")[0]), "file_missing")

    def test_a_pipe_that_takes_the_place_of_a_checked_file_does_not_block(self):
        self.write("a")
        real = served_files.posix.stat

        class Swapping:
            def __getattr__(_, name):
                return getattr(os, name)

            def stat(_, *arguments, **options):
                found = real(*arguments, **options)
                os.unlink(self.path("a"))
                os.mkfifo(self.path("a"))
                return found

        from codecell_kernel.files import workspace

        kept, workspace.posix = workspace.posix, Swapping()
        try:
            self.assertEqual(outcome(self.host.read("a")[0]), "file_refused")
        finally:
            workspace.posix = kept

    def test_holes_of_a_sparse_file_are_counted_and_only_the_range_is_read(self):
        with open(self.path("sparse"), "wb") as file:
            file.truncate(1 << 40)
        reply, data = self.host.read("sparse", (1 << 40) - 10)
        self.assertEqual((data, reply["file"]["size"], reply["file"]["holes"]), (bytes(10), 1 << 40, 1 << 40))

    def test_nothing_more_is_read_while_the_host_has_not_taken_what_was_sent(self):
        self.write("a", bytes(4 << 20))
        self.host.send("read", path="a", start=0, end=4 << 20)
        self.host.outlet.size = served_files.OUTLET_HIGH
        self.assertFalse(self.host.files.can_work)
        self.host.files.work()
        self.assertEqual(self.host.messages(), [])
        self.host.outlet.size = 0
        self.assertTrue(self.host.files.can_work)

    def test_a_swapped_directory_never_shows_a_file_outside(self):
        """The attack: a directory becomes a symlink between its check and the opening of a file in it."""
        self.write("../elsewhere/file", b"secret")
        self.write("dir/file", b"public")
        os.symlink("../elsewhere", self.path("trap"))
        reading, stop = threading.Event(), threading.Event()

        def swap():
            while not stop.is_set():
                reading.wait()  # each read meets one swap, from its first system call on, however the threads are scheduled
                reading.clear()
                for first, second in (("dir", "kept"), ("trap", "dir"), ("dir", "trap"), ("kept", "dir")):
                    os.rename(self.path(first), self.path(second))

        seen = {self.host.read("dir/file")[1]}
        self.assertEqual(seen, {b"public"})
        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for _ in range(1500):
                reading.set()
                seen.add(self.host.read("dir/file")[1])
        finally:
            stop.set()
            reading.set()
            thread.join()
        self.assertLessEqual(seen, {b"public", b""})


class Listing(ServedFilesTest):
    def all_pages(self, limit):
        found, after = [], ""
        while after is not None:
            page = self.host.list(after=after, limit=limit)
            found += [row["path"] for row in page["files"]]
            after = page.get("next")
        return found

    def test_pages_follow_each_other_in_order_and_hold_every_file_once(self):
        names = ["a", "a.b/c", "a0", "b/c/d", "b/c.e", "c", "z/\u00fc", "z/y"]
        for name in names:
            self.write(name)
        self.assertEqual(self.all_pages(limit=2), sorted(names))

    def test_what_is_not_a_regular_file_or_has_no_name_in_utf8_is_counted_and_left_out(self):
        os.symlink("/etc", self.path("link"))
        os.mkfifo(self.path("pipe"))
        with open(os.path.join(os.fsencode(self.root), b"\xff\xfe"), "w"):
            pass
        os.mkdir(os.path.join(os.fsencode(self.root), b"\xff-directory"))
        self.write("line\nbreak")
        self.write(".codecell-" + "0" * 32 + ".part")
        page = self.host.list()
        self.assertEqual(([row["path"] for row in page["files"]], page["leftOut"]), (["line\nbreak"], 4))

    def test_the_names_of_a_page_are_limited_in_bytes_and_the_next_page_goes_on(self):
        kept, listing.MAX_PAGE_BYTES = listing.MAX_PAGE_BYTES, 20_000
        self.addCleanup(setattr, listing, "MAX_PAGE_BYTES", kept)
        for number in range(400):
            self.write("\u00fc" * 50 + "%03d" % number)
        self.assertLess(len(self.host.list()["files"]), 400)
        self.assertEqual(len(self.all_pages(limit=10_000)), 400)

    def test_a_walk_ends_at_its_limit_of_entries_and_says_so(self):
        kept, listing.MAX_ENTRIES = listing.MAX_ENTRIES, 50
        self.addCleanup(setattr, listing, "MAX_ENTRIES", kept)
        for number in range(80):
            self.write("%02d" % number)
        page = self.host.list()
        self.assertEqual((len(page["files"]), page["truncated"]), (50, True))

    def test_a_long_walk_is_cut_into_slices_in_which_others_are_served(self):
        for number in range(3000):
            self.write("many/%04d" % number)
        self.write("one", b"short")
        self.host.send("list", prefix="", after="", limit=10)
        self.host.send("read", path="one", start=0, end=9)
        self.host.work()
        replies = [header["id"] for header, _ in self.host.messages() if header["t"] == "reply"]
        self.assertEqual(replies, [2, 1])

    def test_a_walk_pauses_after_each_directory_although_it_is_empty(self):
        for number in range(1500):
            os.mkdir(os.path.join(self.root, "d%d" % number))
        steps = listing.Listing(self.host.files.workspace, "", "", 10)
        self.assertGreater(sum(1 for _ in steps.walk()), 300)

    def test_a_walk_that_takes_too_long_is_ended_and_leaves_no_descriptor_open(self):
        for number in range(1500):
            self.write("%03d" % number)
        before = self.descriptors()
        reply, _ = self.host.ask("list", prefix="", after="", limit=10, timeoutMs=0)
        self.assertEqual((outcome(reply), self.descriptors()), ("timeout", before))

    @unittest.skipIf(os.getuid() == 0, "root may open everything")
    def test_a_directory_that_cannot_be_opened_makes_the_list_incomplete(self):
        self.write("closed/file")
        os.chmod(self.path("closed"), 0)
        page = self.host.list()
        os.chmod(self.path("closed"), 0o700)
        self.assertEqual((page["truncated"], page["leftOut"]), (True, 1))

    def test_a_workspace_that_cannot_be_listed_is_an_error_and_not_empty(self):
        self.write("file")
        workspace = self.host.files.workspace
        workspace.open_directory = lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied"))
        self.assertEqual(outcome(self.host.ask("list", prefix="", after="", limit=9)[0]), "file_refused")

    def test_a_directory_that_the_supervisor_has_no_descriptor_for_makes_the_list_incomplete(self):
        self.write("dir/file")
        workspace, real = self.host.files.workspace, self.host.files.workspace.open_directory

        def fail(parts, *flags):
            if parts:
                raise OSError(24, "Too many open files")
            return real(parts, *flags)

        workspace.open_directory = fail
        page = self.host.list()
        self.assertEqual((page["truncated"], page["leftOut"]), (True, 1))

    def test_a_directory_that_becomes_a_link_is_not_walked(self):
        self.write("../elsewhere/secret")
        self.write("dir/file")
        os.rename(self.path("dir"), self.path("moved"))
        steps = listing.Listing(self.host.files.workspace, "", "", 10)
        os.symlink("../elsewhere", self.path("dir"))
        self.assertEqual(list(steps.visit("dir/")), [])
        self.assertEqual((steps.first.sorted(), steps.left_out, steps.is_truncated), ([], 1, False))


class Uploads(ServedFilesTest):
    def test_an_upload_appears_whole_under_its_name_and_makes_its_directories(self):
        self.assertTrue(self.host.upload(1, b"data", "new/dir/file")["ok"])
        with open(self.path("new/dir/file"), "rb") as file:
            self.assertEqual(file.read(), b"data")
        self.assertEqual(os.stat(self.path("new/dir/file")).st_mode & 0o777, 0o644)
        self.assertEqual((os.listdir(self.root), self.host.placed), (["new"], ["new/dir/file"]))

    def test_credit_follows_what_was_written(self):
        header = self.host.send("write", upload=1, size=10 << 20)
        granted = sum(one["bytes"] for one, _ in self.host.messages())
        self.assertEqual(granted, served_files.WINDOW)
        for _ in range(10):
            self.host.files.take_data(0, header["id"], bytes(1 << 20))
        rest = self.host.messages()
        self.assertEqual(granted + sum(one.get("bytes", 0) for one, _ in rest), 10 << 20)
        self.assertTrue(rest[-1][0]["ok"])

    def test_an_upload_replaces_a_symlink_and_not_its_target(self):
        self.write("target", b"kept")
        os.symlink("target", self.path("alias"))
        self.assertTrue(self.host.upload(1, b"new", "alias")["ok"])
        self.assertEqual((os.path.islink(self.path("alias")), os.path.getsize(self.path("target"))), (False, 4))

    def test_nothing_is_left_of_an_upload_that_cannot_be_placed(self):
        os.symlink(self.outside, self.path("up"))
        os.mkdir(self.path("dir"))
        before = self.descriptors()
        for path in ("up/file", "dir", "made/../../x", "a" * 300, "/".join("d" * 70)):
            with self.subTest(path):
                self.assertEqual(outcome(self.host.upload(1, b"x", path)), "file_refused")
        self.assertEqual(sorted(os.listdir(self.root)), ["dir", "up"])
        self.assertEqual((os.listdir(self.outside), self.descriptors()), (["workspace"], before))

    def test_a_full_disk_ends_the_upload_with_a_clear_error(self):
        header = self.host.send("write", upload=1, size=4)
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, self.host.files.uploads[0, 1].draft.file)
        os.close(full)
        self.host.files.take_data(0, header["id"], b"data")
        reply = self.host.messages()[-1][0]
        self.assertEqual((reply["code"], reply["message"]), ("too_large", "the disk of the cell is full"))
        self.assertEqual(os.listdir(self.root), [])
        self.assertFalse(self.host.files.takes_data(0, header["id"]))

    def test_an_upload_without_room_is_refused_and_leaves_nothing(self):
        self.host.room = 0
        self.assertEqual(outcome(self.host.send("write", upload=1, size=3) and self.host.messages()[-1][0]), "too_large")
        self.host.room = 1 << 20
        header = self.host.send("write", upload=2, size=6)
        self.host.files.take_data(0, header["id"], b"abc")
        self.host.messages()
        self.host.room = -1
        self.host.files.take_data(0, header["id"], b"def")
        self.assertEqual(outcome(self.host.messages()[-1][0]), "too_large")
        self.host.room = 3
        self.assertEqual(outcome(self.host.upload(3, b"abc", "a/b/c/d")), "too_large")
        self.assertEqual((self.host.files.uploads, os.listdir(self.root)), ({}, []))

    def test_an_upload_needs_room_for_what_is_new_only(self):
        os.makedirs(os.path.join(self.root, "a/b"))
        self.host.room = 3
        self.assertEqual(outcome(self.host.ask("write", upload=1, size=0)[0]), True)
        self.assertEqual(outcome(self.host.ask("write", upload=1, size=0)[0]), True)
        self.assertEqual(outcome(self.host.ask("place", upload=1, path="a/b/c")[0]), True)
        self.host.room = 5
        self.assertEqual(outcome(self.host.upload(2, b"abc", "a/d/e")), True)
        self.assertEqual(outcome(self.host.ask("write", upload=3, size=0)[0]), "too_large")

    def test_an_upload_whose_draft_or_directory_the_program_removes_is_refused(self):
        self.host.send("write", upload=1, size=0)
        shutil.rmtree(self.root)
        reply, _ = self.host.ask("place", upload=1, path="a/b")
        self.assertIn(outcome(reply), ("file_refused", "file_missing"))

    def test_uploads_of_two_sessions_with_one_number_are_apart_and_end_with_their_session(self):
        self.host.send("write", upload=1, size=0)
        self.host.send("write", upload=1, size=0, branch=2)
        self.assertEqual(len(os.listdir(self.root)), 2)
        self.host.files.leave(2)
        self.assertEqual(len(os.listdir(self.root)), 1)
        self.assertTrue(self.host.ask("place", upload=1, path="kept")[0]["ok"])

    def test_uploads_at_the_same_time_are_limited(self):
        for number in range(16):
            self.assertTrue(self.host.ask("write", upload=number, size=0)[0]["ok"])
        self.assertEqual(outcome(self.host.ask("write", upload=16, size=0)[0]), "too_large")
        self.assertTrue(self.host.ask("drop", upload=3)[0]["ok"])
        self.assertTrue(self.host.ask("write", upload=16, size=0)[0]["ok"])

    def test_a_file_that_may_not_leave_its_directory_is_copied(self):
        """Landlock answers a rename to another directory with EXDEV, as another file system does."""
        from codecell_kernel.files import uploads

        real, tries = uploads.Draft.rename, []

        def rename(draft, directory, name):
            tries.append(draft)
            if len(tries) == 1:
                raise OSError(uploads.errno.EXDEV, "Invalid cross-device link")
            real(draft, directory, name)

        self.addCleanup(setattr, uploads.Draft, "rename", real)
        uploads.Draft.rename = rename
        before = self.descriptors()
        self.assertTrue(self.host.upload(1, bytes(3 << 20), "dir/file")["ok"])
        self.assertEqual(os.path.getsize(self.path("dir/file")), 3 << 20)
        self.assertEqual((os.listdir(self.root), self.descriptors()), (["dir"], before))

    def test_a_file_of_the_host_is_no_change_of_the_program_until_the_program_writes_it(self):
        changes = Changes(self.root)
        self.addCleanup(os.close, changes.fd)
        self.host.files.on_placed = changes.placed
        self.host.upload(1, b"data", "dir/file")
        self.host.send("write", upload=2, size=0)
        self.assertEqual(changes.take(10), ([], True))
        self.write("dir/file", b"more")
        self.assertEqual([row["path"] for row in changes.take(10)[0]], ["dir/file"])


    def test_many_files_of_the_host_do_not_make_the_changes_of_a_run_incomplete(self):
        changes = Changes(self.root)
        self.addCleanup(os.close, changes.fd)
        self.host.files.on_placed = changes.placed
        for number in range(30):
            self.host.upload(number, b"x", "sent/%d" % number)
        self.write("own")
        rows, is_complete = changes.take(10)
        self.assertEqual(([row["path"] for row in rows], is_complete), (["own"], True))


class Removing(ServedFilesTest):
    def test_a_file_or_a_link_itself_is_removed_and_a_directory_is_not(self):
        self.write("../secret")
        self.write("dir/file")
        os.symlink("../secret", self.path("link"))
        os.symlink(self.outside, self.path("up"))
        self.assertTrue(self.host.ask("remove", path="link")[0]["ok"])
        self.assertEqual(outcome(self.host.ask("remove", path="up/secret")[0]), "file_refused")
        self.assertEqual(outcome(self.host.ask("remove", path="dir")[0]), "file_refused")
        self.assertTrue(self.host.ask("remove", path="dir/file")[0]["ok"])
        self.assertTrue(os.path.exists(os.path.join(self.outside, "secret")))


if __name__ == "__main__":
    unittest.main()
