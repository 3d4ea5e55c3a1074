"""One interpreter of the cell: its worker, its queue of requests, and the copies it can be restored from."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from time import monotonic

from ..shared.frames import MAX_HEADER, REHEARSAL, head
from ..shared.lean_json import dumps
from . import claims
from .changes import fitting
from .channel import read_some
from .copier import Copier
from .forking import Forking
from .link import WorkerLink
from .output_tail import OutputTail, rest_of_character, tail_bytes, whole_characters
from .processes import signal_quietly
from .recovery import RESUME_SECONDS, Recovery
from .stopper import Stopper

WINDOW = 4 << 20
MAX_QUEUE = 64
RUNAWAY_BYTES = 64 << 20
MAX_CHANGED_FILES = 1000
SPARE_BYTES = 1024  # of a header, for the fields around the list of changed files
HELD_SECONDS = 1.0
# more than the buffer of a socket holds, where its limit is the default of Linux and its size was raised to that
MAX_LAST_PACKETS = 1024
MAX_LAST_BYTES = 1 << 20


class Branch:
    def __init__(self, supervisor, number, config, link=None):
        self.supervisor = supervisor
        self.sweeper = supervisor.sweeper
        self.number = number
        self.config = config
        self.queue = []
        self.active = None  # the current request
        self.copier = Copier(self)
        self.copies = self.copier.copies
        self.stopper = Stopper(self)
        self.forking = Forking(self)
        self.recovery = Recovery(self)
        self.calls = None  # calls to the host, once it exposes functions
        self.exposed = None  # the frame with the host's functions
        self.runs = 0
        self.holds_values = False  # the interpreter has state that would be lost with it
        self.failure = None  # what a worker that could not start said before it exited
        self.old_links = []  # of workers that were replaced, as long as a copy uses them
        self.zombies = ()  # children of the worker that a sweep killed; the worker has to reap them
        self.link = link if link is not None else self.new_link()

    def new_link(self):
        supervisor = self.supervisor
        try:
            link = WorkerLink.start(supervisor.run_worker, self.config, supervisor.notify_filter)
        except OSError:
            # Runs of other branches have used up the cell's processes. Without a worker, the whole cell would be lost.
            self.sweeper.kill_leftovers()
            link = WorkerLink.start(supervisor.run_worker, self.config, supervisor.notify_filter)
        supervisor.add_guard(link)
        return link

    def tell(self, header, body=b""):
        if self.number:
            header["branch"] = self.number
        if body:
            self.supervisor.outlet.write(head(header, len(body)), body)
        else:
            self.supervisor.outlet.write(head(header))

    @property
    def has_processes(self):
        """Whether it may have processes besides its worker: those of a run, or a copy that is being made."""
        if self.copier.is_busy:
            return True
        return self.active is not None and (self.active.is_run or self.active.kind == "fork")

    def next_due(self):
        """When `on_time` has something to do. Asked before each wait of the supervisor, so it asks only parts with a deadline."""
        due = self.copier.next_due()
        if self.active is not None:
            due = min(due, self.stopper.next_due())
        if self.forking.in_call:
            due = min(due, self.forking.next_due())
        return due

    def on_time(self, now):
        self.copier.on_time(now)
        self.stopper.on_time(now)
        self.forking.on_time(now)

    # ---------------------------------------------------------------- requests

    def on_request(self, request):
        if request.kind == "leave":  # closing a session does not wait for its run
            self.leave(request)
            return
        if request.kind == "expose":
            self.expose(request.frame)
            self.tell(request.reply())
            return
        if request.kind == "fork" and "call" in request.header:
            self.forking.begin_in_call(request, self.new_branch)
            return
        if len(self.queue) >= MAX_QUEUE and not request.is_run:
            message = "more than %d requests are waiting" % MAX_QUEUE
            self.tell(request.reply(ok=False, code="too_large", message=message))
            return
        self.queue.append(request)
        self.next()

    def takes_run_at_once(self):
        """Whether a run that arrives now can start immediately."""
        if self.active is not None or self.queue or self.zombies or not self.link.is_up or self.link.outlet.size:
            return False
        if self.link.exposed is not self.exposed:
            return False
        return not self.copier.is_busy and not self.copier.is_due_before(is_run=True)

    def on_forwarded(self, request):
        """The supervisor has already forwarded this run to the worker."""
        self.copier.at = None
        self.begin(request)

    def on_interrupt(self, run_id):
        if self.active is not None and self.active.id == run_id:
            self.stopper.stop("interrupted", kill=self.active.ending is not None)
            return
        for request in self.queue:
            if request.id == run_id and request.is_run:
                self.queue.remove(request)
                self.tell(request.done("cancelled", "kept"))
                return

    def next(self):
        """Gives the next request to the worker. Waits while a copy is being made."""
        if self.active is not None or not self.queue or self.copier.is_busy or not self.link.is_up:
            return
        handle = OWN_REQUESTS.get(self.queue[0].kind)
        if handle is None and self.copier.is_due_before(self.queue[0].is_run):
            self.copier.park()
            return
        request = self.queue.pop(0)
        self.copier.at = None
        if handle is not None:
            handle(self, request)
            return
        self.begin(request)
        if self.link.exposed is not self.exposed and request.is_run:
            self.link.exposed = self.exposed
            self.link.outlet.write(self.exposed)
        if request.takes_input:
            self.open_input(request)
        self.link.outlet.write(request.frame)
        if request.is_bulk:
            self.grant()

    def begin(self, request):
        self.active = request
        request.began = monotonic()
        if request.timeout is not None:
            request.deadline = request.began + request.timeout
        self.supervisor.look_soon(request.began)
        if self.zombies and request.is_run:
            self.link.send({"t": "reap", "pids": list(self.zombies)})
            self.zombies = ()

    def open_input(self, request):
        """Imported only for a run that has input: every import slows down a cold start."""
        from .run_input import RunInput

        grant = lambda room: self.tell({"t": "credit", "id": request.id, "bytes": room})  # noqa: E731
        request.input = RunInput(self.supervisor, grant)
        request.input.hand_over(self.link)

    def on_input(self, header, body):
        """Input of a run that has ended is dropped: its program did not read it."""
        active = self.active
        if active is not None and active.id == header["id"] and active.input is not None:
            active.input.take(bytes(body), header.get("end", False))

    def finish(self):
        if self.active is not None:
            if self.active.ending:
                self.link.calm()  # the interrupt may have arrived after the answer
            self.active.close_input()
        self.active = None
        if self.calls is not None:
            self.calls.close()
        self.supervisor.drop_bulk(self)

    def takes_data(self, request_id):
        """Whether bulk bytes are still wanted. After an early end, the worker would take them for its next request."""
        return self.active is not None and self.active.is_bulk and self.active.id == request_id

    def grant(self):
        """Grants credit for a bulk transfer, so that less than a window of bytes waits for the worker."""
        request = self.active
        if request is None or not request.is_bulk:
            return
        left = request.header["size"] - request.granted
        room = min(left, WINDOW - self.link.outlet.size)
        if room >= min(WINDOW // 4, left) and room > 0:
            request.granted += room
            self.tell({"t": "credit", "id": request.id, "bytes": room})

    def reset(self, request):
        """Starts a new worker. Variables, modules, threads and children of the old one are gone; named copies stay."""
        self.copies.set_automatic(None)
        self.replace_worker()
        self.copier.dirty = self.holds_values = False
        self.tell(request.reply())

    def replace_worker(self, link=None):
        """Kills the worker. The given link replaces it, or a new interpreter. Closes the old link unless a copy uses it."""
        old = self.link
        old.dead = old.dead or 0
        signal_quietly(old.pid, 9)
        self.sweeper.sweep(but=self)
        self.close_links(link)  # first of all: the descriptors of this process are limited
        self.link = link if link is not None else self.new_link()
        if old is not self.link:
            self.old_links.append(old)
        self.close_links(self.link)

    def close_links(self, in_use):
        """Closes the links of earlier workers whose copies are gone."""
        earlier = [link for link in self.old_links if link is not in_use]
        self.old_links = [link for link in earlier if self.copies.uses(link)]
        for link in earlier:
            if link not in self.old_links:
                link.close()

    def leave(self, request):
        """The session of this branch was closed: cancels all its requests."""
        waiting = [one for one in (self.active, *self.queue) if one is not None]
        for one in waiting:
            one.close_input()
            if one.is_run:
                self.tell(one.done("cancelled", "lost", ["the session was closed"]))
            else:
                self.tell(one.reply(ok=False, code="cell_lost", message="the session was closed"))
            if one.kind == "fork":
                self.forking.drop_unborn(one)
        self.active, self.queue = None, []
        self.tell(request.reply())
        self.supervisor.remove(self)

    def cannot_start(self):
        """Its new worker exits before it is ready. That ends the cell only if no other session is in it."""
        if len(self.supervisor.branches) > 1:
            self.give_up(self.failure or "its worker exits before it is ready")
            return
        if self.failure is not None:
            self.supervisor.fail(self.failure)
        posix._exit(4)

    def give_up(self, why):
        """Ends this interpreter alone. The host rejects its requests."""
        self.supervisor.outlet.write(head({"t": "failed", "reason": why[:2000], "branch": self.number}))
        waiting = [one for one in (self.active, *self.queue) if one is not None]
        self.active, self.queue = None, []
        for one in waiting:
            one.close_input()
            if one.kind == "fork":
                self.forking.drop_unborn(one)
        self.supervisor.remove(self)
        if self.forking.born is not None:
            parent, request = self.forking.born
            if parent.forking.awaits(request):
                parent.forking.fail(request)

    def close(self):
        """Kills the worker and the copies, and closes all their links. Copies may use older links."""
        links = [self.link]
        for copy in self.copies.all():
            if copy.link not in links:
                links.append(copy.link)
        self.copies.drop_all()
        if self.link.pid and self.link.dead is None:
            self.sweeper.end_child(self.link.pid)
        for link in links:
            link.close()

    # ---------------------------------------------------------------- replies

    def on_replies(self):
        for header, body in self.link.receive():
            self.on_reply(header, body)

    def on_last_replies(self):
        """All that a dead worker left, such as the displays of a run that crashed. The next worker may use the same socket, so what
        is not read now is lost. Bounded: a process of the run may have the socket too, and write without end.
        """
        link, packets, size = self.link, 0, 0
        while packets < MAX_LAST_PACKETS and size < MAX_LAST_BYTES:
            replies = link.receive()
            packets += link.packets
            size += sum(len(body) for _, body in replies)
            for header, body in replies:
                self.on_reply(header, body)
            if not link.packets or self.number not in self.supervisor.branches:
                return

    def on_reply(self, header, body):
        kind, active = header.get("t"), self.active
        if self.link.is_killed and kind in ("done", "reply"):
            return  # its state dies with it: an answer that says it is kept would be false
        if kind == "done" and active is not None and active.is_run and header.get("id") == active.id:
            self.finish_run(claims.ending(header))
        elif kind == "call":
            if self.calls is not None:
                self.calls.on_call(header, body)
        elif kind == "call.drop":
            if self.calls is not None and active is not None and active.is_run:
                self.calls.on_drop(header.get("call"))
        elif kind == "parked":
            self.copier.on_parked(header)
        elif kind == "copied":
            self.copier.on_copied(header)
        elif kind == "unparked":
            self.copier.on_unparked()
        elif kind == "calmed":
            self.stopper.on_calmed()
        elif kind == "noticed":
            self.stopper.on_noticed()
        elif kind == "forked" and self.forking.born is not None:
            self.forking.on_forked(header)
        elif kind in ("ready", "failed") and not self.link.ready:
            self.on_started(kind, header)
        elif kind == "reply" and self.forking.in_call and self.forking.awaits_reply(header.get("id")):
            self.forking.on_answer(claims.reply(header["id"], header))
        elif active is None or header.get("id") != active.id:
            return  # forged or late
        elif kind == "display" and active.is_run:
            piece = claims.display(active.id, header)
            if piece is not None:
                self.tell(piece, body)
        elif kind == "data" and not active.is_run:
            self.tell({"t": "data", "id": active.id}, body)
        elif kind == "reply" and not active.is_run:
            self.on_answer(claims.reply(active.id, header))

    def on_answer(self, reply):
        active = self.active
        if active.kind == "fork":
            active.is_answered = True
            if reply["ok"]:
                return  # the fork itself reports when it is ready
            self.forking.drop_unborn(active)
        if active.ending:
            reply.update(ok=False, code="timeout", message="the request timed out")
        if active.is_bulk and reply["ok"]:
            self.holds_values = self.copier.dirty = self.copier.has_new_values = True
        self.finish()
        self.tell(reply)
        self.copier.plan()
        self.next()

    def on_started(self, kind, header):
        """The worker sends this once, before any user code runs."""
        if kind == "failed":
            self.failure = str(header.get("reason"))[:2000]  # it exits now, and `cannot_start` tells the host
            return
        self.link.ready = True
        self.tell({"t": "ready"})
        self.next()

    def on_output(self, fd):
        """Forwards the beginning of the output, keeps its end for `send_tail`, and counts it all. Stops a run that prints
        far too much.
        """
        active = self.active
        for _ in range(8):
            try:
                data = read_some(fd)
            except BlockingIOError:
                return False
            if not data:
                return False
            if active is None or not active.is_run:
                continue
            name = self.link.streams[fd]
            active.printed[name] = active.printed.get(name, 0) + len(data)
            limit = active.header["outputBytes"]
            room = limit - tail_bytes(limit) - active.sent
            if len(data) <= room:
                active.sent += len(data)
                self.tell({"t": "out", "id": active.id, "stream": name}, data)
                continue
            cut = 0
            if active.tail is None:
                active.sent += room
                active.tail = OutputTail(tail_bytes(limit))
                cut = whole_characters(data, room)
            if name not in active.tail.streams:
                cut = max(cut, rest_of_character(data))
            if cut:
                self.tell({"t": "out", "id": active.id, "stream": name}, data[:cut])
            active.tail.add(name, data[cut:])
            self.tell_held(active)
            if active.ending is None and sum(active.printed.values()) > max(RUNAWAY_BYTES, 16 * limit):
                self.stopper.stop("output_limit", kill=False)
        return True

    def tell_held(self, active):
        """Once a second, so that the host can say why nothing more appears."""
        now = monotonic()
        if now >= active.held_due:
            active.held_due = now + HELD_SECONDS
            self.tell({"t": "held", "id": active.id, "bytes": sum(active.printed.values()) - active.sent})

    def send_tail(self):
        """The end of the output of a run that printed more than was forwarded."""
        active = self.active
        if active.tail is None:
            return
        for name, skipped, piece in active.tail.parts():
            header = {"t": "out", "id": active.id, "stream": name}
            if skipped:
                header["skipped"] = skipped
            self.tell(header, piece)

    def drain_output(self):
        """Forwards what was printed before the run ended. Bounded: a child process may still be printing."""
        for fd, _ in self.link.stream_poll.poll(0):
            for _ in range(64):
                if not self.on_output(fd):
                    break

    def finish_run(self, header):
        has_seen_all = self.supervisor.has_seen_all(self.link)
        if not has_seen_all:
            self.drain_output()
        self.send_tail()
        active = self.active
        killed = self.sweeper.sweep_after(self, active)
        notes = []
        if killed:
            notes.append("killed %d process%s left behind by the run" % (killed, "" if killed == 1 else "es"))
        done = active.done(header["status"], "kept", notes)
        done.update(header)
        if active.ending:
            done["status"] = active.ending
            done.pop("exitCode", None)
            done.pop("result", None)
        self.add_changes(done, is_drained=has_seen_all and not killed)
        self.tell(done)  # before the bookkeeping, which nobody waits for
        self.finish()
        self.recovery.idle_deaths = 0
        if active.id != REHEARSAL:
            self.runs = active.id
            self.copier.dirty = self.holds_values = True
        self.copier.plan()
        self.next()

    def add_changes(self, done, is_drained=False):
        files, is_complete = self.supervisor.changes.take(MAX_CHANGED_FILES, is_drained)
        if files or not is_complete:
            done["files"] = fitting(files, MAX_HEADER - len(dumps(done)) - SPARE_BYTES)
            done["filesComplete"] = is_complete and len(done["files"]) == len(files)

    # ---------------------------------------------------------------- copies

    def checkpoint(self, request):
        self.copier.make(request)

    def rollback(self, request):
        """The named copy becomes the worker, and a new copy takes its name."""
        copy = self.copies.named.pop(request.header["name"], None)
        if copy is None:
            self.tell(request.reply(ok=False, code="checkpoint_unknown", message="this checkpoint no longer exists"))
            self.next()
            return
        self.copies.set_automatic(None)
        self.sweeper.spare(copy.pid)
        self.replace_worker(copy.link)
        if not copy.link.resume(copy.pid, RESUME_SECONDS):
            signal_quietly(copy.pid, 9)
            copy.link.dead = copy.link.dead or 0
            self.replace_worker()
            self.runs = 0
            self.copier.dirty = self.holds_values = False
            message = "the checkpoint could not be restored: the interpreter is fresh"
            self.tell(request.reply(ok=False, code="cell_lost", message=message, state="lost"))
            return
        self.runs = copy.run
        self.copier.dirty = self.holds_values = True
        self.copier.make(request)

    def forget(self, request):
        self.copies.forget(request.header["name"])
        self.tell(request.reply())
        self.copier.plan()
        self.next()

    def fork(self, request):
        self.forking.begin(request, self.new_branch)

    def new_branch(self, number, link):
        """A branch that starts with this one's state, and with the functions that its interpreter has."""
        branch = Branch(self.supervisor, number, self.config, link)
        if self.link.exposed is not None:
            branch.expose(self.link.exposed)
            link.exposed = branch.exposed
        return branch

    def expose(self, frame):
        """The worker gets the host's functions before its next run. Imported here: every import slows down a cold start."""
        from .guest_calls import GuestCalls

        self.exposed = frame
        self.calls = self.calls or GuestCalls(self)


OWN_REQUESTS = {
    "reset": Branch.reset,
    "checkpoint": Branch.checkpoint,
    "rollback": Branch.rollback,
    "forget": Branch.forget,
    "fork": Branch.fork,
    "leave": Branch.leave,
}
