"""The supervisor, the cell's first process: owns the channel, never runs user code, and answers even if user code hangs."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
import sys
from time import monotonic

import _signal

from ..shared.frames import BadFrame, Decoder, head, is_plain_run
from .branch import Branch
from .bulk import BulkRelay, TakenBody
from .changes import changes_below
from .channel import Outlet, read_some
from .host_messages import PlainRuns, makes_sense
from .processes import session_of
from .request import Request
from .sweeper import Sweeper

PROTOCOL = 1
WORKSPACE = "/workspace"
FEATURES = ["checkpoints", "fork", "snapshot", "changes", "calls", "files"]
OUTLET_HIGH = 1 << 20
MAX_PLANS = 64
HANG_UP_SECONDS = 1.0  # for a host that has been told why the cell cannot start
NEVER = float("inf")
IN_ORDER = sys.platform == "linux"  # poll(2) looks at descriptors one after the other


class Supervisor:
    files = None  # answers the host's requests about files, once it sends one
    usage = None  # what its processes use, once the host asks

    def __init__(self, channel, run_worker, notify_filter, answers=None, listener=None, sockets=None):
        """`run_worker` is what a forked worker calls; it never returns. The caller passes it, because this module may not import it.

        `answers` is the descriptor for writing to the host, if it differs from the one for reading.

        `listener` is a socket that was sent to the host. The first message says whether the host received it.

        `sockets` knows the memory of socket buffers, if the OS reports it.
        """
        self.channel = channel
        self.run_worker = run_worker
        self.notify_filter = notify_filter
        self.outlet = Outlet(channel if answers is None else answers)
        posix.set_blocking(channel, False)
        self.decoder = Decoder(partial=("data", "net.data"))
        self.plain_runs = PlainRuns()
        self.bulk = None  # a large body that is still arriving, for a worker or a connection
        self.branches = {}
        self.guards = {}
        self.inputs = {}  # descriptor to the input of a run, while the program has to read before more can be written
        self.listener = listener
        self.sockets = sockets
        self.egress = None  # outgoing connections, if the policy allows a network
        self.watched = None  # limits that the Linux kernel does not enforce
        self.situation = None  # everything that the interests depend on
        self.interests = {}
        self.owners = {}  # descriptor to the branch it belongs to
        self.plans = {}  # interests, owners and `sees_all` by situation: only a few ever occur
        self.sees_all = False  # the poll covers everything that the only interpreter's run may leave to read
        self.is_only_event = False  # the event that is being handled was the only one
        self.due = 0.0  # when `on_time` has something to do, as of the last `wait_ms`
        self.poll = select.poll()

    # ---------------------------------------------------------------- the loop

    def main(self):
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
        self.wake_read, wake_write = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        _signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self.sweeper = Sweeper(self.branches)
        # before any user code: a program may replace the directory, and under srt also those above it
        self.workspace = posix.open(WORKSPACE, posix.O_PATH | posix.O_DIRECTORY | posix.O_CLOEXEC)
        self.changes = changes_below(WORKSPACE)
        version = "%d.%d.%d" % sys.version_info[:3]
        languages = ["python", "bash"] if posix.access("/bin/bash", posix.X_OK) else ["python"]
        features = FEATURES + (["usage"] if posix.access("/proc/self/stat", posix.R_OK) else [])
        hello = {"t": "hello", "protocol": PROTOCOL, "python": version, "languages": languages, "features": features}
        self.outlet.write(head(hello))
        while True:
            try:
                self.step()
            except (BadFrame, BrokenPipeError, ConnectionError):
                posix._exit(3)

    def step(self):
        self.watch()
        if self.egress is not None:
            self.egress.watch(self.poll)
        ready = self.poll.poll(self.wait_ms())
        self.is_only_event = len(ready) == 1
        for fd, events in ready:
            if fd in self.owners:
                self.contain(self.owners[fd], self.on_branch_event, fd, events)
                continue
            if fd == self.outlet.fd and events & (select.POLLOUT | select.POLLERR):
                self.outlet.flush()
            if fd == self.channel:
                if events & ~select.POLLOUT:
                    self.on_channel()
            elif fd == self.outlet.fd:
                continue
            elif fd == self.wake_read:
                drain(fd)
                self.sweeper.reap()
            elif fd in self.guards:
                self.on_guard(fd, events)
            elif fd in self.inputs:
                self.inputs[fd].move()
            elif fd == self.changes.fd:
                self.changes.drain()
            elif self.egress is not None and fd in self.egress.watched:
                self.egress.on_event(fd, events, self.poll)
        self.is_only_event = False
        for branch in list(self.branches.values()):
            if branch.link.dead is not None:
                self.contain(branch, self.on_dead_worker, branch)
            if branch.calls is not None:
                branch.calls.grant()  # whatever this step wrote to the worker may have made room
        if self.files is not None and self.files.can_work:
            self.files.work()
        self.on_time()

    def contain(self, branch, act, *arguments):
        """An error in what one interpreter does ends that interpreter. The others of the cell are sessions of their own."""
        try:
            act(*arguments)
        except Exception as error:
            if len(self.branches) < 2 or self.branches.get(branch.number) is not branch:
                raise
            branch.give_up("%s: %s" % (type(error).__name__, error))

    def on_dead_worker(self, branch):
        branch.on_last_replies()
        if branch.link.dead is not None and branch.number in self.branches:
            branch.recovery.recover()

    def on_branch_event(self, fd, events):
        branch = self.owners[fd]
        if branch.number not in self.branches:
            return
        link = branch.link
        if fd == link.replies:
            branch.on_replies()
            if events & select.POLLHUP:
                branch.forking.on_hangup()
        elif fd == link.outlet.fd:
            link.outlet.flush()
            branch.grant()
            self.relay()
        elif fd in link.streams:
            branch.on_output(fd)

    def watch(self):
        """Registers the descriptors to wait for. A slow host pauses reading from workers, never the other way round."""
        bulk_is_full = self.bulk is not None and self.bulk.is_full
        full_branch = self.bulk.branch if bulk_is_full else None
        situation = [self.outlet.size > 0, self.outlet.size < OUTLET_HIGH, full_branch, *self.guards]
        for branch in self.branches.values():
            situation += (branch.link, branch.link.outlet.size > 0, branch.active is not None and branch.active.is_run)
        situation = tuple(situation)
        if situation == self.situation:
            return
        self.situation = situation
        plan = self.plans.get(situation)
        if plan is None:
            if len(self.plans) >= MAX_PLANS:
                self.plans.clear()
            plan = self.plans[situation] = self.interests_now(bulk_is_full)
        wanted, self.owners, self.sees_all = plan
        if wanted is self.interests:
            return
        last = self.changes.fd  # stays behind the replies, for `has_seen_all`
        for fd in self.interests:
            if fd == last or fd not in wanted:
                self.poll.unregister(fd)
        for fd, events in wanted.items():
            if fd == last or self.interests.get(fd) != events:
                self.poll.register(fd, events)
        self.interests = wanted

    def has_seen_all(self, link):
        """Whether the poll that reported the end of a run has shown that there is no output and no changed file to read.

        Linux looks at descriptors in the order in which they were registered, and the replies come first: what the run wrote
        before its last message would have been reported too. It is not known for a message that was read after another one.
        """
        return self.sees_all and self.is_only_event and link.packets == 1

    def interests_now(self, bulk_is_full):
        has_room = self.outlet.size < OUTLET_HIGH
        wanted = {self.wake_read: select.POLLIN, self.channel: 0 if bulk_is_full else select.POLLIN}
        if self.outlet.size:
            wanted[self.outlet.fd] = wanted.get(self.outlet.fd, 0) | select.POLLOUT
        for fd in self.guards:
            wanted[fd] = select.POLLIN
        owners = {}
        for branch in self.branches.values():
            link = branch.link
            for fd in (link.replies, link.outlet.fd, *link.streams):
                owners[fd] = branch
            if link.outlet.size or (bulk_is_full and self.bulk.branch is branch):
                wanted[link.outlet.fd] = select.POLLOUT
            if has_room:
                wanted[link.replies] = select.POLLIN
            if branch.active is not None and branch.active.is_run:
                if self.changes.fd >= 0:
                    wanted[self.changes.fd] = select.POLLIN
                if has_room:
                    for fd in link.streams:
                        wanted[fd] = select.POLLIN
        sees_all = IN_ORDER and len(self.branches) == 1 and self.changes.fd in wanted and has_room
        return wanted, owners, sees_all

    def wait_ms(self):
        due = NEVER
        for branch in self.branches.values():
            due = min(due, branch.next_due())
        if self.watched is not None and self.branches:
            due = min(due, self.watched.due)
        self.due = due
        if self.files is not None and self.files.can_work:
            return 0
        return None if due == NEVER else max(0, int((due - monotonic()) * 1000) + 1)

    def on_time(self):
        """A deadline that this step has set is the next step's: `wait_ms` knows it then."""
        now = monotonic()
        if now < self.due:
            return
        for branch in list(self.branches.values()):
            self.contain(branch, branch.on_time, now)
        if self.branches and self.watched is not None:
            self.watched.on_time(now)

    def look_soon(self, now):
        """A run starts: check its memory and processes from now on."""
        if self.watched is not None:
            self.watched.look_soon(now)

    # ---------------------------------------------------------------- host to cell

    def on_channel(self):
        if self.bulk is not None:
            self.relay()
            return
        try:
            data = read_some(self.channel)
        except BlockingIOError:
            return
        if not data:
            posix._exit(0)  # the host has exited; Linux kills everything else in this pid namespace
        known = None if self.decoder.buffer else self.plain_runs.header_of(data)
        if self.forwards_run(data, known is not None):
            self.branches[0].on_forwarded(Request(known or self.learned_run(data)))
            return
        for header, body, frame in self.decoder.feed(data):
            self.on_message(header, body, frame)
        missing = self.decoder.take_missing()
        if missing and not makes_sense(header):
            self.bulk = BulkRelay(self.channel, None, missing, False)
            self.relay()
        elif missing and header["t"] == "net.data":
            self.bulk = TakenBody(self.channel, missing, lambda data: self.give_egress(header["id"], data))
        elif missing and self.is_for_file(header):
            number, request = header.get("branch", 0), header["id"]
            self.bulk = TakenBody(self.channel, missing, lambda data: self.files.take_data(number, request, data))
        elif missing:
            branch = self.branches.get(header.get("branch", 0))
            wanted = branch is not None and branch.takes_data(header["id"])
            self.bulk = BulkRelay(self.channel, branch, missing, wanted)
            self.relay()

    def forwards_run(self, data, is_known):
        """Forwards a run unparsed if the worker is free. The worker starts it while the supervisor does the bookkeeping."""
        first = self.branches.get(0)
        if first is None or not (is_known or (not self.decoder.buffer and is_plain_run(data))) or not first.takes_run_at_once():
            return False
        first.link.outlet.write(data)
        return True

    def learned_run(self, data):
        """The header of a plain run, which the worker has already."""
        header = self.decoder.feed(data)[0][0]
        if not makes_sense(header):
            raise BadFrame
        self.plain_runs.learn(data, header)
        return header

    def relay(self):
        """Moves the rest of a large body from the channel to the worker, without copying it through this process."""
        if self.bulk is not None and self.bulk.move():
            branch, self.bulk = self.bulk.branch, None
            if branch is not None:
                branch.grant()

    def has_room(self, entries):
        """Whether so many more files fit on the disk. Where the OS limits it, the OS says so."""
        return True

    def drop_bulk(self, branch):
        if self.bulk is not None and self.bulk.branch is branch:
            self.bulk.wanted = False

    def on_message(self, header, body, frame):
        kind = header["t"] if makes_sense(header) else None
        if kind is None:
            return
        if kind == "start":
            if self.branches:
                return  # a cell starts once: a second worker in the place of the first would lose its variables
            self.sweeper.allows_background = header["background"]
            if header.get("watchMemoryBytes") or (header.get("watchSocketBytes") and self.sockets is not None):
                self.watch_limits(header)
            if "authorities" in header:
                self.keep_authorities(header["authorities"], body)
            if header.get("egress"):
                self.open_egress()
            elif self.listener is not None:
                self.listener.close()  # the host accepts its connections from now on
            self.add(Branch(self, 0, header))
            self.sweeper.new_processes.began(posix.getpid(), self.branches[0].link.pid)
            return
        if kind[:4] == "net.":
            if self.egress is not None:
                self.egress.on_message(kind, header, body, self.poll)
            return
        if kind == "usage":
            self.tell_usage()
            return
        branch = self.branches.get(header.get("branch", 0))
        if kind == "data":
            if self.is_for_file(header):
                self.files.take_data(header.get("branch", 0), header["id"], body)
            elif branch is not None and branch.takes_data(header["id"]):
                branch.link.outlet.write(bytes(body))
                branch.grant()
        elif kind == "in":
            if branch is not None:
                branch.on_input(header, body)
        elif kind == "answer":
            if branch is not None and branch.calls is not None:
                branch.calls.on_answer(header, body, frame)
        elif branch is None:
            self.refuse(header)
        elif kind == "interrupt":
            branch.on_interrupt(header["id"])
        elif kind[:5] == "file.":
            self.serve_file(header)
        else:
            self.contain(branch, branch.on_request, Request(header, bytes(frame)))

    def tell_usage(self):
        """Imported only if the host asks: every import slows down a cold start."""
        if self.usage is None:
            from ..measure.usage import Usage

            self.usage = Usage(self.sweeper, self.watched)
        self.outlet.write(head(self.usage.measure()))

    def serve_file(self, header):
        """Imported only if the host asks for files: every import slows down a cold start."""
        if self.files is None:
            from ..files.served_files import ServedFiles

            self.files = ServedFiles(self.workspace, self.outlet, self.changes.placed, self.has_room)
        self.files.on_request(header)

    def is_for_file(self, header):
        return self.files is not None and self.files.takes_data(header.get("branch", 0), header["id"])

    def give_egress(self, number, data):
        if self.egress is not None:
            self.egress.give(number, data, self.poll)

    def watch_limits(self, config):
        from .watched_limits import WatchedLimits

        self.watched = WatchedLimits(self.branches, self.sweeper, config, self.sockets)

    def open_egress(self):
        """Imported only if the policy allows a network: every import slows down a cold start."""
        import resource

        from .egress import Egress

        try:
            self.egress = Egress(self.outlet, resource.getrlimit(resource.RLIMIT_NOFILE)[0], self.listener)
        except OSError as error:
            self.fail("the proxy's port could not be opened: %s" % error)

    def keep_authorities(self, path, content):
        """Writes the CA certificates that TLS clients in the cell trust, before any of its programs starts."""
        try:
            posix.mkdir(path[: path.rindex("/")], 0o755)
            file = posix.open(path, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC, 0o444)
            while content:
                content = content[posix.write(file, content) :]
            posix.close(file)
        except OSError as error:
            self.fail("the CA certificates could not be written: %s" % error)

    def fail(self, reason):
        """Ends a cell that cannot start. Waits until the host has hung up: engines may drop what a process writes just before it exits."""
        self.outlet.write(head({"t": "failed", "reason": reason}))
        waiting = select.poll()
        waiting.register(self.channel, select.POLLIN)
        until = monotonic() + HANG_UP_SECONDS
        while monotonic() < until:
            waiting.poll(20)
            try:
                if not read_some(self.channel):
                    break
            except BlockingIOError:
                pass
            except OSError:
                break
            self.outlet.flush()
        posix._exit(4)

    def refuse(self, header):
        """Answers a request for a branch that no longer exists."""
        reply = Request(header, b"").reply(ok=False, code="cell_lost", message="this interpreter no longer exists")
        self.outlet.write(head(dict(reply, branch=header.get("branch", 0))))

    # ---------------------------------------------------------------- branches and their processes

    def add(self, branch):
        self.branches[branch.number] = branch

    def remove(self, branch):
        del self.branches[branch.number]
        self.drop_bulk(branch)
        if self.files is not None:
            self.files.leave(branch.number)
        self.sweeper.sweep(but=branch)
        branch.close()

    def add_guard(self, link):
        if link.guard is not None:
            self.guards[link.guard.fd] = link.guard

    def on_guard(self, fd, events):
        if events & select.POLLIN:
            self.guards[fd].answer(self.protects)
        elif events & (select.POLLHUP | select.POLLERR | select.POLLNVAL):
            self.guards.pop(fd).close()  # no process is left under that filter

    def protects(self, caller, target):
        """Nobody may signal a copy, and no branch may signal another branch's worker."""
        for branch in self.branches.values():
            if target in branch.copies.pids():
                return True
        if len(self.branches) > 1 and any(branch.link.pid == target for branch in self.branches.values()):
            return session_of(caller) != session_of(target)
        return False


def drain(fd):
    try:
        while posix.read(fd, 4096):
            pass
    except BlockingIOError:
        pass
