import os
import signal
import socket
import unittest

from codecell_kernel.shared.frames import Decoder, head
from codecell_kernel.shared.lean_json import dumps
from codecell_kernel.supervisor.branch import Branch
from codecell_kernel.supervisor.channel import Outlet
from codecell_kernel.supervisor.host_messages import PlainRuns
from codecell_kernel.supervisor.link import WorkerLink
from codecell_kernel.supervisor.recovery import Recovery
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
        self.header = request.header

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
        self.supervisor.plain_runs = PlainRuns()
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

    def test_a_run_like_an_earlier_one_is_noted_with_its_own_id_and_the_same_limits(self):
        free = FakeBranch()
        self.given(run(1), _0=free)
        self.given(run(2345, b"another program"), _0=free)
        self.assertEqual(free.events[2:], [("worker", run(2345, b"another program")), ("noted", 2345)])
        expected = {"t": "run", "id": 2345, "language": "python", "timeoutMs": 1000, "outputBytes": 99}
        self.assertEqual(free.header, expected)

    def test_a_run_with_other_limits_is_not_taken_for_an_earlier_one(self):
        free = FakeBranch()
        self.given(run(1), _0=free)
        self.given(run(2, outputBytes=98), _0=free)
        self.assertEqual(free.header["outputBytes"], 98)
        self.given(run(3, branch=2), _0=free, _2=FakeBranch())
        self.given(run(4, program={"stdin": True}), _0=free)
        self.assertEqual(free.events[-1], ("asked", 4))
        self.assertNotIn(("noted", 3), free.events)

    def test_a_frame_that_only_begins_like_a_known_run_is_not_known(self):
        known = PlainRuns()
        known.learn(run(1), {"t": "run", "id": 1})
        self.assertEqual(known.header_of(run(7))["id"], 7)
        for data in (run(7)[:-1], run(7) + b"x", run(0), run(10**15), run("7"), run(-7), b"", run(7)[:20]):
            self.assertIsNone(known.header_of(data))

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

    def test_a_run_waits_while_the_worker_dies_of_what_it_did_between_two_runs(self):
        branch = Branch.__new__(Branch)
        link = branch.link = WorkerLink()
        self.addCleanup(link.close)
        self.addCleanup(link.close_worker_side)
        child = link.pid = os.fork()
        if child == 0:
            while True:
                signal.pause()
        link.ready = True
        branch.active, branch.queue, branch.zombies, branch.copier, branch.exposed = None, [], (), FakeCopier(), None
        self.assertTrue(branch.takes_run_at_once())
        Recovery(branch).end_idle("it exceeded the memory limit")
        self.assertFalse(branch.takes_run_at_once())  # although nobody has reaped it
        self.assertEqual(os.WTERMSIG(os.waitpid(child, 0)[1]), signal.SIGKILL)


class WhatADeadWorkerLeft(unittest.TestCase):
    """Its last packets wait in the socket that its successor may use."""

    def setUp(self):
        branch = self.branch = Branch.__new__(Branch)
        branch.link = WorkerLink()
        branch.link.unblock()
        self.addCleanup(branch.link.close)
        self.addCleanup(branch.link.close_worker_side)
        branch.number, branch.active, branch.calls = 0, Request({"t": "run", "id": 1}), None
        branch.forking = FakeForking()
        branch.forking.in_call = {}
        branch.link.ready, branch.link.dead = True, 9
        self.displays = []
        branch.tell = lambda header, body=b"": self.displays.append(header["display"])
        branch.recovery = self
        self.is_recovered = False
        self.supervisor = branch.supervisor = Supervisor.__new__(Supervisor)
        self.supervisor.branches = {0: branch}

    def recover(self):
        self.is_recovered = True

    def send(self, header):
        text = dumps(header).encode()
        os.write(self.branch.link.worker_side[1], self.branch.link.token + len(text).to_bytes(4, "little") + text)

    def test_all_displays_before_a_crash_reach_the_host(self):
        for number in range(150):
            self.send({"t": "display", "id": 1, "display": number, "mime": "text/plain", "more": False})
        self.supervisor.on_dead_worker(self.branch)
        self.assertEqual(self.displays, list(range(150)))
        self.assertTrue(self.is_recovered)

    def test_a_process_that_writes_without_end_does_not_keep_the_supervisor(self):
        link = self.branch.link
        endless = {"t": "display", "id": 1, "display": 1, "mime": "text/plain", "more": False}

        def receive():
            link.packets = 64
            return [(endless, b"x" * 1000)] * 64

        link.receive = receive
        self.supervisor.on_dead_worker(self.branch)
        self.assertTrue(self.is_recovered)
        self.assertLess(len(self.displays), 2000)


class ChangedFiles(unittest.TestCase):
    """The list of changed files in the header of a run's end."""

    def told(self, paths, **fields):
        rows = [{"path": path, "size": 2**40, "modifiedMs": 1_700_000_000_000} for path in paths]
        branch = Branch.__new__(Branch)
        branch.supervisor = branch.changes = branch
        branch.take = lambda limit, is_drained: (rows, True)
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


class CellThatCannotStart(unittest.TestCase):
    def test_a_supervisor_that_says_why_its_cell_cannot_start_exits_only_when_the_host_has_hung_up(self):
        host, channel = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            host.close()
            supervisor = Supervisor.__new__(Supervisor)
            supervisor.channel = channel.fileno()
            os.set_blocking(supervisor.channel, False)
            supervisor.outlet = Outlet(supervisor.channel)
            supervisor.fail("no module x")
            os._exit(99)
        channel.close()
        said = host.recv(4096)
        self.assertEqual([header for header, *_ in Decoder().feed(said)], [{"t": "failed", "reason": "no module x"}])
        self.assertEqual(os.waitpid(pid, os.WNOHANG), (0, 0))
        host.close()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 4)


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


class RecordedPoll(dict):
    """Keeps descriptors in the order in which poll(2) looks at them."""

    register = dict.__setitem__
    unregister = dict.__delitem__


class RunningBranch:
    def __init__(self, replies, out):
        self.active = Request({"t": "run", "id": 1})
        self.link = self.outlet = self
        self.replies, self.streams, self.fd, self.size, self.packets = replies, {out: "stdout"}, replies + 50, 0, 1


class EverythingIsSeen(unittest.TestCase):
    """One poll reports the end of a run, and that there is nothing else to read."""

    def setUp(self):
        supervisor = self.supervisor = Supervisor.__new__(Supervisor)
        supervisor.outlet, supervisor.bulk, supervisor.guards, supervisor.situation = FakeLink(), None, {}, None
        supervisor.outlet.fd = supervisor.channel = 1
        supervisor.wake_read, supervisor.interests, supervisor.plans = 2, {}, {}
        supervisor.changes = supervisor.poll = RecordedPoll()
        supervisor.changes.fd = 3
        supervisor.is_only_event = True

    def watch(self, **branches):
        self.supervisor.branches = branches
        self.supervisor.watch()
        return list(self.supervisor.poll)

    def test_the_poll_looks_at_output_and_files_after_the_replies(self):
        first, second = RunningBranch(10, 11), RunningBranch(20, 21)
        self.assertEqual(self.watch(a=first)[2:], [10, 3, 11])
        self.assertTrue(self.supervisor.has_seen_all(first.link))
        # A new worker takes the place of a dead one, and its first run starts at once.
        self.assertEqual(self.watch(a=second)[2:], [20, 3, 21])
        self.assertTrue(self.supervisor.has_seen_all(second.link))

    def test_it_is_not_known_after_another_event_or_message_or_beside_another_interpreter(self):
        first, second = RunningBranch(10, 11), RunningBranch(20, 21)
        self.watch(a=first)
        first.packets = 2
        self.assertFalse(self.supervisor.has_seen_all(first.link))
        first.packets, self.supervisor.is_only_event = 1, False
        self.assertFalse(self.supervisor.has_seen_all(first.link))
        self.supervisor.is_only_event = True
        self.watch(a=first, b=second)
        self.assertFalse(self.supervisor.has_seen_all(first.link))
