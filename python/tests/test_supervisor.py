import os
import unittest

from codecell_kernel.shared.frames import Decoder, head
from codecell_kernel.supervisor.branch import Branch
from codecell_kernel.supervisor.request import Request
from codecell_kernel.supervisor.supervisor import Supervisor


class FakeBranch:
    """Takes a run at once if it is free, and records what it is given."""

    def __init__(self, is_free=True):
        self.is_free = is_free
        self.events = []
        self.link = self.outlet = self

    def takes_run_at_once(self):
        return self.is_free

    def write(self, data):
        self.events.append(("worker", bytes(data)))

    def on_forwarded(self, request):
        self.events.append(("noted", request.id))

    def on_request(self, request):
        self.events.append(("asked", request.id))


def run(number, body=b"x = 1", **more):
    header = dict({"t": "run", "id": number, "language": "python", "timeoutMs": 1000, "outputBytes": 99}, **more)
    return head(header, len(body)) + body


class Runs(unittest.TestCase):
    def setUp(self):
        self.supervisor = Supervisor.__new__(Supervisor)
        self.supervisor.channel, self.host = os.pipe()
        self.addCleanup(os.close, self.supervisor.channel)
        self.addCleanup(os.close, self.host)
        self.supervisor.decoder = Decoder()
        self.supervisor.bulk = self.supervisor.egress = None

    def given(self, data, **branches):
        self.supervisor.branches = {int(number[1:]): branch for number, branch in branches.items()}
        os.write(self.host, data)
        self.supervisor.on_channel()

    def test_a_run_reaches_a_free_worker_before_the_bookkeeping(self):
        free = FakeBranch()
        self.given(run(1), _0=free)
        self.assertEqual(free.events, [("worker", run(1)), ("noted", 1)])

    def test_a_run_with_input_or_arguments_is_not_forwarded_before_its_input_is_open(self):
        free = FakeBranch()
        self.given(run(1, program={"args": ["a"], "stdin": True}), _0=free)
        self.assertEqual(free.events, [("asked", 1)])

    def test_a_run_for_a_busy_worker_is_queued(self):
        busy = FakeBranch(is_free=False)
        self.given(run(1), _0=busy)
        self.assertEqual(busy.events, [("asked", 1)])

    def test_a_run_reaches_the_branch_that_its_header_names(self):
        first, second = FakeBranch(), FakeBranch()
        self.given(run(1, branch=2), _0=first, _2=second)
        self.assertEqual((first.events, second.events), ([], [("asked", 1)]))

    def test_a_run_with_the_word_branch_in_its_code_goes_to_the_first_branch(self):
        free = FakeBranch()
        self.given(run(1, b'x = {"branch": 2}'), _0=free)
        self.assertEqual([kind for kind, _ in free.events], ["worker", "noted"])

    def test_runs_that_arrive_together_or_in_pieces_are_decoded_first(self):
        free = FakeBranch()
        self.given(run(1) + run(2), _0=free)
        self.given(run(3)[:20], _0=free)
        self.given(run(3)[20:], _0=free)
        self.assertEqual(free.events, [("asked", 1), ("asked", 2), ("asked", 3)])


class FakeLink:
    is_up = False
    exposed = None
    size = 0
    outlet = property(lambda self: self)

    def __init__(self):
        self.written = []

    def write(self, data):
        self.written.append(data)


class FakeCopier:
    is_busy = False
    at = 1.0

    def is_due_before(self, is_run):
        return False


class RunsForAWorkerThatHasDied(unittest.TestCase):
    def test_a_run_waits_for_the_worker_that_replaces_a_dead_one(self):
        branch = Branch.__new__(Branch)
        branch.active, branch.queue, branch.zombies, branch.link, branch.copier = None, [], (), FakeLink(), FakeCopier()
        branch.exposed = None
        branch.begin = lambda request: setattr(branch, "active", request)
        self.assertFalse(branch.takes_run_at_once())
        request = Request({"t": "run", "id": 1}, b"the run")
        branch.on_request(request)
        self.assertEqual((branch.queue, branch.link.written), ([request], []))
        branch.link.is_up = True
        branch.next()
        self.assertEqual((branch.queue, branch.active, branch.link.written), ([], request, [b"the run"]))


class ChangedFiles(unittest.TestCase):
    """The list of changed files in the header of a run's end."""

    def told(self, paths, **fields):
        rows = [{"path": path, "size": 2**40, "modifiedMs": 1_700_000_000_000} for path in paths]
        branch = Branch.__new__(Branch)
        branch.supervisor = branch.changes = branch
        branch.take = lambda limit: (rows, True)
        done = dict({"t": "done", "id": 1, "status": "ok"}, **fields)
        branch.add_changes(done)
        head(dict(done, branch=1))  # raises if no frame can hold it
        return done

    def test_a_thousand_ordinary_names_are_all_told(self):
        done = self.told(["out/part-%04d.parquet" % number for number in range(1000)])
        self.assertEqual((len(done["files"]), done["filesComplete"]), (1000, True))

    def test_names_that_do_not_fit_into_a_frame_are_left_out_and_the_list_is_incomplete(self):
        for name in ("n" * 1000, "\udcff" * 250, "\U0001f600" * 60):
            done = self.told([name + str(number) for number in range(1000)], result="x" * 180_000)
            self.assertTrue(0 < len(done["files"]) < 1000)
            self.assertFalse(done["filesComplete"])


if __name__ == "__main__":
    unittest.main()


class FakeForking:
    born = None

    def drop_unborn(self, request):
        raise AssertionError("there is no fork")


class FailingBranch:
    """An interpreter whose handling fails. Its requests are those of a real one."""

    give_up = Branch.give_up
    cannot_start = Branch.cannot_start

    def __init__(self, supervisor, number):
        self.supervisor, self.number = supervisor, number
        self.active, self.queue, self.failure = Request({"t": "get", "id": 1}, b""), [], None
        self.forking = FakeForking()
        self.is_closed = False
        supervisor.add(self)

    def fail(self, error):
        raise error

    def close(self):
        self.is_closed = True


class OneInterpreterOfSeveral(unittest.TestCase):
    def setUp(self):
        self.supervisor = Supervisor.__new__(Supervisor)
        self.supervisor.branches = {}
        self.supervisor.bulk = None
        self.supervisor.sweeper = self
        self.supervisor.outlet = self
        self.told = []
        self.parent = FailingBranch(self.supervisor, 0)

    def sweep(self, but):
        pass

    def write(self, data):
        self.told += [header for header, *_ in Decoder().feed(data)]

    def test_a_fork_whose_handling_fails_ends_alone(self):
        fork = FailingBranch(self.supervisor, 1)
        self.supervisor.contain(fork, fork.fail, ValueError("a hundred thousand names"))
        self.assertEqual(self.supervisor.branches, {0: self.parent})
        self.assertTrue(fork.is_closed)
        self.assertEqual(self.told, [{"t": "failed", "reason": "ValueError: a hundred thousand names", "branch": 1}])

    def test_a_parent_whose_handling_fails_leaves_its_fork_alone(self):
        fork = FailingBranch(self.supervisor, 1)
        self.supervisor.contain(self.parent, self.parent.fail, OSError(109, "Too many references"))
        self.assertEqual(self.supervisor.branches, {1: fork})
        self.assertEqual(self.told[0]["branch"], 0)

    def test_a_fork_whose_new_worker_cannot_start_ends_alone(self):
        fork = FailingBranch(self.supervisor, 1)
        fork.failure = "MemoryError: "
        fork.cannot_start()
        self.assertEqual(self.supervisor.branches, {0: self.parent})
        self.assertEqual(self.told[0]["reason"], "MemoryError: ")

    def test_the_only_interpreter_of_a_cell_ends_it(self):
        with self.assertRaises(ValueError):
            self.supervisor.contain(self.parent, self.parent.fail, ValueError("x"))
