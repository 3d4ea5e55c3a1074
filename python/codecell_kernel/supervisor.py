"""Pid 1 of the cell: holds the channel, never runs user code, and answers while user code is stuck."""
from .pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
import sys
from time import monotonic

import _signal

from . import claims
from .bulk import BulkRelay
from .channel import Outlet
from .frames import BadFrame, Decoder, head
from .link import WorkerLink
from .processes import NewProcesses, freeze_copy, kill_all_but, pids, resident_bytes, signal_quietly

PROTOCOL = 1
MAX_PID = 1 << 22
INTERRUPT_GRACE = 0.5
RESUME_SECONDS = 5.0
PARK_SECONDS = 5.0
MAX_IDLE_DEATHS = 3
PID_WRAP_SECONDS = 0.2
IDLE_BEFORE_PARK = 0.002
PARK_COST_FACTOR = 50
LONGEST_WITHOUT_COPY = 1.0
READ_BYTES = 256 << 10
OUTLET_HIGH = 1 << 20
WINDOW = 4 << 20
MAX_QUEUE = 64
RUNAWAY_BYTES = 64 << 20
MEMORY_WATCH_SECONDS = 0.02
IDLE_MEMORY_WATCH_SECONDS = 0.1
NOT_BACK = "threads, child processes, sockets and file positions of that state did not come back"


class Supervisor:
    def __init__(self, channel, notify_filter):
        self.channel = channel
        self.notify_filter = notify_filter
        self.outlet = Outlet(channel)
        self.decoder = Decoder(partial="data")
        self.bulk = None  # a body on its way to the worker that is still in the channel
        self.link = None
        self.config = None
        self.queue = []
        self.active = None  # the request that the worker has
        self.parked = None  # (pid, run) of the frozen copy
        self.parking = False
        self.park_at = None
        self.park_began = self.park_due = 0.0
        self.dirty = False  # a run ended since the copy was made
        self.runs = 0
        self.memory_due = 0.0
        self.idle_reason = None  # why the worker was ended between two runs
        self.idle_deaths = 0  # how often the worker died since the last run ended
        self.zombies = ()  # children of the worker that a sweep ended
        self.situation = None  # what decides the interests
        self.interests = {}
        self.poll = select.poll()

    # ---------------------------------------------------------------- the loop

    def main(self):
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        _signal.signal(_signal.SIGCHLD, lambda *_: None)
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
        self.wake_read, wake_write = posix.pipe2(posix.O_CLOEXEC | posix.O_NONBLOCK)
        _signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        self.new_processes = NewProcesses()
        version = "%d.%d.%d" % sys.version_info[:3]
        languages = ["python", "bash"] if exists("/bin/bash") else ["python"]
        self.tell({"t": "hello", "protocol": PROTOCOL, "python": version, "languages": languages})
        while True:
            try:
                self.step()
            except (BadFrame, BrokenPipeError, ConnectionError):
                posix._exit(3)

    def step(self):
        self.watch()
        for fd, events in self.poll.poll(self.wait_ms()):
            link = self.link
            if fd == self.channel:
                if events & select.POLLOUT:
                    self.outlet.flush()
                if events & ~select.POLLOUT:
                    self.on_channel()
            elif fd == self.wake_read:
                drain(fd)
                self.reap()
            elif link is None:
                continue
            elif fd == link.replies:
                self.on_replies()
            elif fd == link.guard_fd:
                link.guard.answer((self.parked[0],) if self.parked else ())
            elif fd == link.outlet.fd:
                self.on_worker_writable()
                self.relay()
            elif fd in link.streams:
                self.on_output(fd)
        if self.link is not None and self.link.dead is not None:
            self.on_replies()
            self.recover()
        self.on_time()

    def watch(self):
        """Registers what may happen next. A slow host stops the reading from the worker, never the other way round."""
        link = self.link
        situation = (
            link,
            self.outlet.size > 0,
            self.outlet.size < OUTLET_HIGH,
            link is not None and link.outlet.size > 0,
            self.active is not None and self.active.is_run,
            self.bulk is not None and self.bulk.is_full,
        )
        if situation == self.situation:
            return
        self.situation = situation
        wanted = self.interests_now()
        for fd in self.interests.keys() - wanted.keys():
            self.poll.unregister(fd)
        for fd, events in wanted.items():
            if self.interests.get(fd) != events:
                self.poll.register(fd, events)
        self.interests = wanted

    def interests_now(self):
        link, must_write, has_room, worker_must_read, is_running, bulk_is_full = self.situation
        wanted = {self.wake_read: select.POLLIN, self.channel: 0 if bulk_is_full else select.POLLIN}
        if must_write:
            wanted[self.channel] |= select.POLLOUT
        if link is None:
            return wanted
        if link.guard_fd >= 0:
            wanted[link.guard_fd] = select.POLLIN
        if worker_must_read or bulk_is_full:
            wanted[link.outlet.fd] = select.POLLOUT
        if has_room:
            wanted[link.replies] = select.POLLIN
            if is_running:
                for fd in link.streams:
                    wanted[fd] = select.POLLIN
        return wanted

    def wait_ms(self):
        times = [t for t in (self.park_at, self.active and self.active.deadline) if t is not None]
        if self.parking:
            times.append(self.park_began + PARK_SECONDS)
        if self.link is not None and self.config.get("watchMemoryBytes"):
            times.append(self.memory_due)
        return None if not times else max(0, int((min(times) - monotonic()) * 1000) + 1)

    def on_time(self):
        now = monotonic()
        if self.park_at is not None and now >= self.park_at:
            self.park()
        if self.parking and now >= self.park_began + PARK_SECONDS:
            # Fork hooks or threads of user code hold the worker: nobody may wait for it for ever.
            self.end_idle("a copy of its state could not be made within %d seconds" % PARK_SECONDS)
        if self.link is not None and self.config.get("watchMemoryBytes") and now >= self.memory_due:
            self.watch_memory(now)
        active = self.active
        if active is not None and active.deadline is not None and now >= active.deadline:
            self.end("timeout", kill=active.ending is not None)

    def watch_memory(self, now):
        """Also between two runs: threads and timers of user code go on then."""
        active = self.active
        self.memory_due = now + (IDLE_MEMORY_WATCH_SECONDS if active is None else MEMORY_WATCH_SECONDS)
        if resident_bytes(self.kept(worker=False)) <= self.config["watchMemoryBytes"]:
            return
        if active is None:
            self.end_idle("it took more than the memory limit between two runs")
        else:
            self.end("out_of_memory", kill=True)

    def end_idle(self, why):
        self.idle_reason = why
        signal_quietly(self.link.pid, 9)

    # ---------------------------------------------------------------- host to cell

    def on_channel(self):
        if self.bulk is not None:
            self.relay()
            return
        try:
            data = posix.read(self.channel, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            posix._exit(0)  # the host is gone: the kernel ends everything else in this pid namespace
        for header, body in self.decoder.feed(data):
            self.on_message(header, body)
        missing = self.decoder.take_missing()
        if missing:
            self.bulk = BulkRelay(self.channel, self.link.outlet, missing, wanted=self.takes_data(header))
            self.relay()

    def relay(self):
        """The rest of a large body goes from the channel to the worker without passing through this process."""
        if self.bulk is not None and self.bulk.move():
            self.bulk = None
            if self.active is not None and self.active.kind == "set":
                self.grant()

    def on_message(self, header, body):
        kind = header["t"]
        if kind == "data":
            if self.takes_data(header):
                self.link.outlet.write(bytes(body))
                self.grant()
        elif kind == "interrupt":
            self.on_interrupt(header["id"])
        elif kind == "start":
            self.config = header
            self.start_worker()
        else:
            self.on_request(Request(header, bytes(body)))

    def on_request(self, request):
        if len(self.queue) >= MAX_QUEUE and not request.is_run:
            message = "more than %d requests wait" % MAX_QUEUE
            self.tell({"t": "reply", "id": request.id, "ok": False, "code": "too_large", "message": message})
            return
        self.queue.append(request)
        self.next()

    def takes_data(self, header):
        """Bytes of a transfer that ended early must not reach the worker: it would take them for its next request."""
        return self.active is not None and self.active.kind == "set" and self.active.id == header["id"]

    def on_interrupt(self, run_id):
        if self.active is not None and self.active.id == run_id:
            self.end("interrupted", kill=self.active.ending is not None)
            return
        for request in self.queue:
            if request.id == run_id and request.is_run:
                self.queue.remove(request)
                self.tell(request.done("cancelled", "kept"))
                return

    def tell(self, header, body=b""):
        self.outlet.write(head(header, len(body)), body)

    # ---------------------------------------------------------------- requests

    def next(self):
        """Hands the next request to the worker; the copy's announcement comes first."""
        if self.active is not None or self.parking or not self.queue or self.link is None or not self.link.ready:
            return
        if self.must_park_first():
            self.park()
            return
        request = self.queue.pop(0)
        self.park_at = None
        if request.kind == "reset":
            self.reset(request)
            return
        self.active = request
        if request.timeout is not None:
            request.deadline = monotonic() + request.timeout
        request.began = self.memory_due = monotonic()
        if self.zombies and request.is_run:
            request.header["ended"], self.zombies = self.zombies, ()
        self.link.send(request.header, request.body)
        if request.kind == "set":
            request.granted = 0
            self.grant()

    def grant(self):
        """Credit for a bulk transfer: what waits for the worker stays below the window."""
        request = self.active
        room = min(request.header["size"] - request.granted, WINDOW - self.link.outlet.size)
        if room >= min(WINDOW // 4, request.header["size"] - request.granted) and room > 0:
            request.granted += room
            self.tell({"t": "credit", "id": request.id, "bytes": room})

    def on_worker_writable(self):
        self.link.outlet.flush()
        if self.active is not None and self.active.kind == "set":
            self.grant()

    def reset(self, request):
        """A fresh worker: variables, modules, threads and children of the old one are gone."""
        self.drop_copy()
        self.link.dead = 0
        self.sweep(keep_worker=False)
        self.link.close()
        self.dirty = False
        self.start_worker()
        self.tell({"t": "reply", "id": request.id, "ok": True})

    def end(self, why, kill):
        """Interrupt, a short grace, then the kill: the first reason wins."""
        active = self.active
        active.ending = active.ending or why
        try:
            posix.kill(self.link.pid, 9 if kill else _signal.SIGINT)
        except OSError:
            pass
        active.deadline = None if kill else monotonic() + INTERRUPT_GRACE

    # ---------------------------------------------------------------- cell to host

    def on_replies(self):
        for header, body in self.link.receive():
            self.on_reply(header, body)

    def on_reply(self, header, body):
        kind, active = header.get("t"), self.active
        if kind == "parked":
            self.on_parked(header)
        elif kind == "unparked":
            self.parking = self.dirty = False  # no room for a copy: do not ask again before the next run
            self.next()
        elif kind == "resumed":
            self.link.resumed = True
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
        elif kind == "done" and active.is_run:
            self.finish_run(claims.ending(header))
        elif kind == "reply" and not active.is_run:
            reply = claims.reply(active.id, header)
            if active.ending:
                reply.update(ok=False, code="timeout", message="no answer within the time limit")
            self.finish()
            self.tell(reply)
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
                data = posix.read(fd, 65536)
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
        notes = []
        # A run that had time to use every number of the pid namespace can make the latest one look unchanged.
        may_have_wrapped = monotonic() - active.began > PID_WRAP_SECONDS
        if not self.config["background"] and (self.new_processes.any() or may_have_wrapped):
            ended = self.sweep()
            if ended:
                notes.append("%d process%s left behind by the run ended with it" % (ended, "" if ended == 1 else "es"))
        done = active.done(active.ending or header["status"], "kept", notes)
        for field in ("exitCode", "result", "resultTruncated", "error"):
            if field in header and not (active.ending and field in ("exitCode", "result")):
                done[field] = header[field]
        self.finish()
        self.runs = active.id
        self.idle_deaths = 0
        self.tell(done)
        self.dirty = True
        self.plan_park()
        self.next()

    def finish(self):
        self.active = None
        if self.bulk is not None:
            self.bulk.wanted = False

    # ---------------------------------------------------------------- processes

    def start_worker(self):
        self.link = WorkerLink(self.config, self.notify_filter)

    def kept(self, worker=True):
        kept = {1}
        if self.parked:
            kept.add(self.parked[0])
        if worker and self.link is not None:
            kept.add(self.link.pid)
        return kept

    def sweep(self, keep_worker=True):
        kept = self.kept(keep_worker)
        ended = kill_all_but(kept, self.reap, held=self.link.pid if keep_worker else 0)
        self.zombies = [pid for pid in pids() if pid not in kept][:8192] if ended else ()
        self.new_processes.any()
        return ended

    def reap(self):
        while True:
            try:
                pid, status = posix.waitpid(-1, posix.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self.link is not None and pid == self.link.pid:
                self.link.dead = status
            elif self.parked and pid == self.parked[0]:
                self.parked = None
                self.dirty = True

    # ---------------------------------------------------------------- the parked copy

    def plan_park(self):
        """A copy is made in idle time, hidden from the next run, and not more often than its cost allows."""
        if self.config["recovery"] and self.dirty:
            self.park_at = max(monotonic() + IDLE_BEFORE_PARK, self.park_due if self.parked else 0.0)

    def must_park_first(self):
        """Runs that come back to back are never without any copy, and get a new one when it is due."""
        if not self.config["recovery"] or not self.dirty:
            return False
        return self.parked is None or monotonic() > self.park_due

    def park(self):
        self.park_at = None
        if self.active is not None or self.link is None or not self.link.ready or self.parking or not self.dirty:
            return
        self.parking = True
        self.park_began = monotonic()
        self.link.send({"t": "park", "run": self.runs})

    def on_parked(self, header):
        pid = header.get("pid")
        if not self.parking or not claims.is_whole(pid, MAX_PID) or pid in self.kept():
            return
        if not freeze_copy(pid):
            return
        self.drop_copy()
        self.parking = False
        self.parked = (pid, self.runs)
        self.dirty = False
        self.new_processes.copied(pid)
        now = monotonic()
        self.park_due = now + min(LONGEST_WITHOUT_COPY, (now - self.park_began) * PARK_COST_FACTOR)
        self.next()

    def drop_copy(self):
        if self.parked:
            try:
                posix.kill(self.parked[0], 9)
            except OSError:
                pass
            self.parked = None

    def recover(self):
        """The worker is dead: the parked copy takes its place, or a fresh interpreter does."""
        status, active = self.link.dead, self.active
        self.parking, self.park_at = False, None
        if active is not None and active.is_run:
            self.drain_output()
        elif active is None:
            self.idle_deaths += 1
            if self.idle_deaths > MAX_IDLE_DEATHS:
                self.drop_copy()  # its state kills whoever wakes it
        sent_ready = self.link.ready
        self.sweep(keep_worker=False)
        copy, self.parked = self.parked, None
        if copy and self.link.resume(copy[0], RESUME_SECONDS):
            state, back_to = "recovered", copy[1]
        else:
            if copy:
                kill_all_but({1}, self.reap)
            state, back_to = ("recovered", 0) if self.runs == 0 else ("lost", None)
            self.link.close()
            if not sent_ready:
                posix._exit(4)  # the worker cannot even start: `failed` has said why
            self.start_worker()
            self.runs = 0 if state == "lost" else self.runs
        self.dirty = bool(copy) and state == "recovered"  # the copy is in use: the next run waits for a new one
        self.new_processes.any()
        self.report(active, status, state, back_to)
        self.finish()
        self.plan_park()
        self.next()

    def report(self, active, status, state, back_to):
        notes = [cause(status)]
        if self.idle_reason is not None:
            notes.append(self.idle_reason)
            self.idle_reason = None
        if state == "recovered":
            notes.append("variables are as they were after run %d" % back_to if back_to else "the interpreter is fresh")
            if back_to:
                notes.append(NOT_BACK)
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
            self.tell(done)
        else:
            code = "timeout" if active.ending == "timeout" else "cell_lost"
            self.tell({"t": "reply", "id": active.id, "ok": False, "code": code, "message": "; ".join(notes)})


class Request:
    """One request of the host, from its arrival to its end."""

    def __init__(self, header, body):
        self.header = header
        self.body = body
        self.id = header["id"]
        self.kind = header["t"]
        self.is_run = self.kind == "run"
        self.timeout = header["timeoutMs"] / 1000 if "timeoutMs" in header else None
        self.deadline = None
        self.ending = None
        self.sent = 0
        self.bytes = {"stdout": 0, "stderr": 0}

    def done(self, status, state, notes=()):
        return {
            "t": "done",
            "id": self.id,
            "status": status,
            "state": state,
            "stdoutBytes": self.bytes["stdout"],
            "stderrBytes": self.bytes["stderr"],
            "notes": list(notes),
        }


def cause(status):
    if posix.WIFSIGNALED(status):
        return "the interpreter was ended by signal %d" % posix.WTERMSIG(status)
    return "the interpreter exited with code %d" % posix.WEXITSTATUS(status)


def exists(path):
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def drain(fd):
    try:
        while posix.read(fd, 4096):
            pass
    except BlockingIOError:
        pass
