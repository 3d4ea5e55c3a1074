"""One interpreter of the cell: its worker, the requests that wait for it, and the copies it can go back to."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from time import monotonic

import _signal

from . import claims, scratch
from .copier import Copier
from .frames import head
from .interpreter import REHEARSAL
from .link import WorkerLink
from .processes import is_own_session, signal_quietly

MAX_PID = 1 << 22
INTERRUPT_GRACE = 1.0  # a kernel in user space needs more than half of it under load, and a kill costs the run's state
UNNOTICED_SECONDS = INTERRUPT_GRACE / 2  # handlers of user code say nothing, and have until then to themselves
RESUME_SECONDS = 5.0
FORK_SECONDS = 5.0
MAX_IDLE_DEATHS = 3
WINDOW = 4 << 20
MAX_QUEUE = 64
RUNAWAY_BYTES = 64 << 20
MAX_CHANGED_FILES = 1000
NOT_BACK = "threads, child processes, sockets and file positions of that state did not come back"


class Branch:
    def __init__(self, supervisor, number, config, link=None):
        self.supervisor = supervisor
        self.number = number
        self.config = config
        self.queue = []
        self.active = None  # the request that is being worked on
        self.copier = Copier(self)
        self.copies = self.copier.copies
        self.runs = 0
        self.holds_values = False  # something would be lost with the interpreter
        self.idle_reason = None  # why the worker was ended between two runs
        self.idle_deaths = 0  # how often the worker died since the last run ended
        self.zombies = ()  # children of the worker that a sweep ended
        self.born = None  # the request of another branch that this one was forked for
        self.link = link if link is not None else self.new_link()

    def new_link(self):
        try:
            link = WorkerLink.start(self.config, self.supervisor.notify_filter)
        except OSError:
            # Runs of other branches have taken every process of the cell: one of them would end the cell for all.
            self.supervisor.end_strangers()
            link = WorkerLink.start(self.config, self.supervisor.notify_filter)
        self.supervisor.add_guard(link)
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
        """Whether there may be processes besides its worker that are its own: of a run, or on their way to be a copy."""
        if self.copier.is_busy:
            return True
        return self.active is not None and (self.active.is_run or self.active.kind == "fork")

    # ---------------------------------------------------------------- time

    def deadlines(self):
        yield from self.copier.deadlines()
        if self.active is not None and self.active.deadline is not None:
            yield self.active.deadline
            if self.active.interrupt_at is not None:
                yield self.active.interrupt_at

    def on_time(self, now):
        self.copier.on_time(now)
        active = self.active
        if active is not None and active.deadline is not None and now >= active.deadline:
            if active.is_answered:
                self.fail_fork(active)
                return
            self.end("timeout", kill=active.ending is not None)
        elif active is not None and active.interrupt_at is not None and now >= active.interrupt_at:
            signal_quietly(self.link.pid, _signal.SIGINT)
            active.interrupt_at = None

    # ---------------------------------------------------------------- requests

    def on_request(self, request):
        if request.kind == "leave":  # whoever closes a session does not wait for its run
            self.leave(request)
            return
        if len(self.queue) >= MAX_QUEUE and not request.is_run:
            message = "more than %d requests wait" % MAX_QUEUE
            self.tell(request.reply(ok=False, code="too_large", message=message))
            return
        self.queue.append(request)
        self.next()

    def on_interrupt(self, run_id):
        if self.active is not None and self.active.id == run_id:
            self.end("interrupted", kill=self.active.ending is not None)
            return
        for request in self.queue:
            if request.id == run_id and request.is_run:
                self.queue.remove(request)
                self.tell(request.done("cancelled", "kept"))
                return

    def next(self):
        """Hands the next request to the worker; a copy's announcement comes first."""
        if self.active is not None or not self.queue or self.copier.is_busy or not self.link.ready:
            return
        handle = OWN_REQUESTS.get(self.queue[0].kind)
        if handle is None and self.copier.is_due_before(self.queue[0]):
            self.copier.park()
            return
        request = self.queue.pop(0)
        self.copier.at = None
        if handle is not None:
            handle(self, request)
            return
        self.begin(request)
        self.link.outlet.write(request.frame)
        if request.is_bulk:
            self.grant()

    def begin(self, request):
        self.active = request
        request.began = monotonic()
        if request.timeout is not None:
            request.deadline = request.began + request.timeout
        self.supervisor.watch_memory_now(request.began)
        if self.zombies and request.is_run:
            self.link.send({"t": "reap", "pids": list(self.zombies)})
            self.zombies = ()

    def finish(self):
        if self.active is not None and self.active.ending:
            self.link.calm()  # the signal may have come after the answer
        self.active = None
        self.supervisor.drop_bulk(self)

    def takes_data(self, request_id):
        """Bytes of a transfer that ended early must not reach the worker: it would take them for its next request."""
        return self.active is not None and self.active.is_bulk and self.active.id == request_id

    def grant(self):
        """Credit for a bulk transfer: what waits for the worker stays below the window."""
        request = self.active
        if request is None or not request.is_bulk:
            return
        left = request.header["size"] - request.granted
        room = min(left, WINDOW - self.link.outlet.size)
        if room >= min(WINDOW // 4, left) and room > 0:
            request.granted += room
            self.tell({"t": "credit", "id": request.id, "bytes": room})

    def end(self, why, kill):
        """Interrupt, a short grace, then the kill: the first reason wins."""
        active = self.active
        active.ending = active.ending or why
        if kill:
            signal_quietly(self.link.pid, 9)
        elif not self.link.is_calming:
            self.interrupt_worker()
        active.deadline = None if kill else monotonic() + INTERRUPT_GRACE

    def on_calmed(self):
        """The worker has forgotten the last interrupt, and would have forgotten the next one with it."""
        self.link.is_calming = False
        if self.active is not None and self.active.ending:
            self.interrupt_worker()

    def interrupt_worker(self):
        """A signal that comes just before Python waits for something is noticed when that is over: then another one helps."""
        signal_quietly(self.link.pid, _signal.SIGINT)
        self.active.interrupt_at = monotonic() + UNNOTICED_SECONDS

    def on_noticed(self):
        if self.active is not None:
            self.active.interrupt_at = None

    def end_idle(self, why):
        self.idle_reason = why
        signal_quietly(self.link.pid, 9)

    def reset(self, request):
        """A fresh worker: variables, modules, threads and children of the old one are gone. Named copies stay."""
        self.copies.set_automatic(None)
        self.replace_worker()
        self.copier.dirty = self.holds_values = False
        self.tell(request.reply())

    def replace_worker(self, link=None):
        """Ends the worker. Another link takes over, or a fresh interpreter; a link that no copy uses is closed."""
        old = self.link
        old.dead = old.dead or 0
        signal_quietly(old.pid, 9)
        self.supervisor.sweep(but=self)
        self.link = link if link is not None else self.new_link()
        if old is not self.link and not self.copies.uses(old):
            old.close()

    def leave(self, request):
        """The session of this branch is over, and whatever was asked of it."""
        waiting = [one for one in (self.active, *self.queue) if one is not None]
        for one in waiting:
            if one.is_run:
                self.tell(one.done("cancelled", "lost", ["the session was closed"]))
            else:
                self.tell(one.reply(ok=False, code="cell_lost", message="the session was closed"))
            if one.kind == "fork":
                self.drop_unborn(one)
        self.active, self.queue = None, []
        self.tell(request.reply())
        self.supervisor.remove(self)

    def close(self):
        """Ends the worker and the copies. They may answer on older links, which end with them."""
        links = [self.link]
        for copy in self.copies.all():
            if copy.link not in links:
                links.append(copy.link)
        self.copies.drop_all()
        if self.link.pid and self.link.dead is None:
            self.supervisor.end_child(self.link.pid)
        for link in links:
            link.close()

    # ---------------------------------------------------------------- replies

    def on_replies(self):
        for header, body in self.link.receive():
            self.on_reply(header, body)

    def on_reply(self, header, body):
        kind, active = header.get("t"), self.active
        if kind == "done" and active is not None and active.is_run and header.get("id") == active.id:
            self.finish_run(claims.ending(header))
        elif kind == "parked":
            self.copier.on_parked(header)
        elif kind == "copied":
            self.copier.on_copied(header)
        elif kind == "unparked":
            self.copier.on_unparked()
        elif kind == "calmed":
            self.on_calmed()
        elif kind == "noticed":
            self.on_noticed()
        elif kind == "forked" and self.born is not None:
            self.on_forked(header)
        elif kind in ("ready", "failed") and not self.link.ready:
            self.on_started(kind, header)
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
                return  # the fork itself says when it is there
            self.drop_unborn(active)
        if active.ending:
            reply.update(ok=False, code="timeout", message="no answer within the time limit")
        if active.is_bulk and reply["ok"]:
            self.holds_values = self.copier.dirty = self.copier.has_gift = True
        self.finish()
        self.tell(reply)
        self.copier.plan()
        self.next()

    def on_started(self, kind, header):
        """Said before any user code runs, and never again by the same worker."""
        if kind == "failed":
            self.tell({"t": "failed", "reason": str(header.get("reason"))[:2000]})
            return
        self.link.ready = True
        self.tell({"t": "ready"})
        self.next()

    def on_output(self, fd):
        """Forwards up to the run's limit and counts the rest; a runaway is stopped."""
        active = self.active
        for _ in range(8):
            try:
                data = scratch.read(fd)
            except BlockingIOError:
                return False
            if not data:
                return False
            if active is None or not active.is_run:
                continue
            name = self.link.streams[fd]
            active.bytes[name] += len(data)
            room = active.header["outputBytes"] - active.sent
            if room > 0:
                piece = data[:room]
                active.sent += len(piece)
                self.tell({"t": "out", "id": active.id, "stream": name}, piece)
            elif active.ending is None and sum(active.bytes.values()) > max(RUNAWAY_BYTES, 16 * active.header["outputBytes"]):
                self.end("output_limit", kill=False)
        return True

    def drain_output(self):
        """What was printed before the end comes before the end; bounded, for a child may go on printing."""
        for fd, _ in self.link.stream_poll.poll(0):
            for _ in range(64):
                if not self.on_output(fd):
                    break

    def finish_run(self, header):
        self.drain_output()
        active = self.active
        ended = self.supervisor.sweep_after(self, active)
        notes = []
        if ended:
            notes.append("%d process%s left behind by the run ended with it" % (ended, "" if ended == 1 else "es"))
        done = active.done(active.ending or header["status"], "kept", notes)
        for field in ("exitCode", "result", "resultTruncated", "error"):
            if field in header and not (active.ending and field in ("exitCode", "result")):
                done[field] = header[field]
        self.add_changes(done)
        self.finish()
        self.idle_deaths = 0
        self.tell(done)
        if active.id != REHEARSAL:
            self.runs = active.id
            self.copier.dirty = self.holds_values = True
        self.copier.plan()
        self.next()

    def add_changes(self, done):
        files, is_complete = self.supervisor.changes.take(MAX_CHANGED_FILES)
        if files or not is_complete:
            done["files"] = files
            done["filesComplete"] = is_complete

    # ---------------------------------------------------------------- copies

    def checkpoint(self, request):
        self.copier.make(request)

    def rollback(self, request):
        """The named copy goes on as the worker, and leaves a new one under its name."""
        copy = self.copies.named.pop(request.header["name"], None)
        if copy is None:
            self.tell(request.reply(ok=False, code="checkpoint_unknown", message="there is no such checkpoint any more"))
            self.next()
            return
        self.copies.set_automatic(None)
        self.supervisor.spare(copy.pid)
        self.replace_worker(copy.link)
        if not copy.link.resume(copy.pid, RESUME_SECONDS):
            copy.link.dead = copy.link.dead or 0
            self.replace_worker()
            self.runs = 0
            self.copier.dirty = self.holds_values = False
            self.tell(request.reply(ok=False, code="cell_lost", message="the checkpoint did not wake up: the interpreter is fresh"))
            return
        self.runs = copy.run
        self.copier.dirty = self.holds_values = True
        self.copier.make(request)

    def forget(self, request):
        self.copies.forget(request.header["name"])
        self.tell(request.reply())
        self.copier.plan()
        self.next()

    # ---------------------------------------------------------------- forks

    def fork(self, request):
        """A second worker that starts as this one is, with descriptors of its own."""
        link, theirs = WorkerLink.unborn(self.link)
        self.begin(request)
        request.deadline = request.began + FORK_SECONDS
        self.link.hand_over(theirs)
        self.link.send({"t": "fork", "id": request.id, "token": link.token.hex()})
        child = Branch(self.supervisor, request.header["into"], self.config, link)
        child.born = (self, request)
        child.runs = self.runs
        child.holds_values = self.holds_values
        self.supervisor.add(child)

    def fail_fork(self, request):
        """The fork never came, or is gone again. The worker that it was forked from goes on."""
        self.drop_unborn(request)
        self.finish()
        self.tell(request.reply(ok=False, code="too_large", message="the fork ended before it was there"))
        self.next()

    def drop_unborn(self, request):
        for branch in list(self.supervisor.branches.values()):
            if branch.born is not None and branch.born[1] is request:
                self.supervisor.remove(branch)

    def on_hangup(self):
        """Nobody holds the other end any more: a fork that is not born yet never will be."""
        if self.born is not None:
            parent, request = self.born
            if parent.active is request and request.is_answered:
                parent.fail_fork(request)

    def on_forked(self, header):
        parent, request = self.born
        pid = header.get("pid")
        if not claims.is_whole(pid, MAX_PID) or pid in self.supervisor.kept() or not is_own_session(pid):
            return
        if parent.active is not request:
            self.supervisor.remove(self)  # nobody waits for it any more
            return
        self.born = None
        self.link.pid = pid
        self.link.ready = True
        self.copier.dirty = True
        self.supervisor.new_processes.copied(pid, header.get("forks"))
        parent.finish()
        parent.tell(request.reply())
        parent.next()
        self.copier.plan()
        self.next()

    # ---------------------------------------------------------------- death

    def recover(self):
        """The worker is dead: the automatic copy takes its place, or a fresh interpreter does."""
        status, active = self.link.dead, self.active
        self.copier.on_worker_ended()
        if active is not None and active.is_run:
            self.drain_output()
        elif active is None:
            self.idle_deaths += 1
            if self.idle_deaths > MAX_IDLE_DEATHS:
                self.copies.set_automatic(None)  # its state kills whoever wakes it
        was_ready = self.link.ready
        self.supervisor.sweep(but=self)
        copy = self.copies.take_automatic()
        if copy is not None and copy.link.resume(copy.pid, RESUME_SECONDS):
            state, back_to = "recovered", copy.run
            self.link = copy.link
            self.runs = copy.run  # the next copy is of this state and of no later one
        else:
            if copy is not None:
                signal_quietly(copy.pid, 9)
            state, back_to = ("lost", None) if self.holds_values else ("recovered", 0)
            if not was_ready and (posix.WIFEXITED(status) or self.idle_deaths > MAX_IDLE_DEATHS):
                posix._exit(4)  # the worker cannot even start: `failed` has said why
            self.replace_worker()
            self.runs = 0
            self.holds_values = False
        self.copier.dirty = copy is not None and state == "recovered"  # the copy is in use: the next run waits for a new one
        if active is not None and active.kind == "fork":
            self.drop_unborn(active)
        self.report(active, status, state, back_to)
        self.finish()
        self.copier.plan()
        self.next()

    def report(self, active, status, state, back_to):
        notes = [cause(status)]
        if self.idle_reason is not None:
            notes.append(self.idle_reason)
            self.idle_reason = None
        if state == "recovered" and self.holds_values:
            notes.append("variables are as they were " + ("after run %d" % back_to if back_to else "before the first run"))
            notes.append(NOT_BACK)
        elif state == "recovered":
            notes.append("the interpreter is fresh")
        else:
            notes.append("no copy of the state was left: the interpreter is fresh")
        extra = {} if back_to is None else {"recoveredTo": back_to}
        if active is None:
            self.tell(dict({"t": "lost", "state": state, "notes": notes}, **extra))
        elif active.is_run:
            done = dict(active.done(active.ending or "crashed", state, notes), **extra)
            if posix.WIFSIGNALED(status):
                done["signal"] = posix.WTERMSIG(status)
            elif active.ending is None:
                done["exitCode"] = posix.WEXITSTATUS(status)
            self.add_changes(done)
            self.tell(done)
        else:
            code = "timeout" if active.ending == "timeout" else "cell_lost"
            self.tell(active.reply(ok=False, code=code, message="; ".join(notes)))


OWN_REQUESTS = {
    "reset": Branch.reset,
    "checkpoint": Branch.checkpoint,
    "rollback": Branch.rollback,
    "forget": Branch.forget,
    "fork": Branch.fork,
    "leave": Branch.leave,
}


def cause(status):
    if posix.WIFSIGNALED(status):
        return "the interpreter was ended by signal %d" % posix.WTERMSIG(status)
    return "the interpreter exited with code %d" % posix.WEXITSTATUS(status)
