"""The process that runs user code. The supervisor validates everything that it sends."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import io
import posix
import sys
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import _signal
import _thread

from ..shared.frames import PREFIX
from ..shared.lean_json import dumps, loads
from ..shared.pass_descriptors import give_up_headroom
from ..shared.system import add_reporting_filter, close_all_but, set_dumpable, set_name, set_oom_score
from .descriptors import discard_descriptors, receive_descriptors, send_descriptor
from .errors import KernelError
from .interpreter import Interpreter
from .ordered import OrderedDisplays
from .rehearsal import Rehearsal
from .sibling import SiblingFork
from .signal_calls import send_again_if_interrupted
from .tracebacks import cut

PIECE = 128 << 10
MAX_HEADER = 180 << 10
READ_BYTES = 4096
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024
NO_CHILD_SECONDS = 0.0002  # a run that took less has started no process: a fork alone takes more


class Worker:
    def __init__(self, requests, replies, token):
        self.requests = requests
        self.replies = replies
        self.token = token
        self.unread = b""
        self.loop = None
        self.cpu_before = self.children_before = 0.0
        self.fork_sibling = SiblingFork()
        self.shell = None
        self.calls = None  # calls to the host, once it exposes functions
        displays = OrderedDisplays(self.send, lambda: self.replies, lambda: self.out)
        self.interpreter = Interpreter(displays, self.run_coroutine)
        self.rehearse = Rehearsal(self.interpreter, self.run)
        self.out = posix.dup(1), posix.dup(2)
        self.nothing = posix.dup(0)  # /dev/null: the standard input of a run that has none

    def send(self, header, body=b""):
        """One packet per message: stray writes by user code cannot break the framing, and they lack the token."""
        text = dumps(header).encode()
        if len(text) > MAX_HEADER:
            text = dumps(shortened(header)).encode()
        packet = [self.token, len(text).to_bytes(4, "little"), text, body]
        try:
            posix.writev(self.replies, packet)
        except BlockingIOError:
            posix.set_blocking(self.replies, True)  # user code may have changed it
            posix.writev(self.replies, packet)

    def read(self, size):
        """The next `size` bytes. Keeps any bytes beyond them, so that most requests need one system call."""
        while len(self.unread) < size:
            self.read_more(size - len(self.unread))
        data, self.unread = self.unread[:size], self.unread[size:]
        return data

    def read_more(self, missing):
        try:
            more = posix.read(self.requests, max(READ_BYTES, missing))
        except BlockingIOError:
            posix.set_blocking(self.requests, True)  # user code may have changed it
            return
        if not more:
            posix._exit(0)
        self.unread = self.unread + more if self.unread else more

    def serve(self):
        self.look_at_cpu()  # the start of the worker is not the first run's
        while True:
            try:
                self.handle(*(self.read_frame() if self.calls is None else self.calls.next_request()))
            except KeyboardInterrupt:
                continue

    def serve_for_ever(self):
        while True:
            try:
                self.serve()
            except KeyboardInterrupt:
                continue
            except BaseException:
                posix._exit(70)

    def read_frame(self):
        if not self.unread:
            self.read_more(8)
        data = self.unread
        if len(data) >= 8:
            length, header_length = PREFIX.unpack_from(data)
            if len(data) == 4 + length:  # most requests come alone and whole: nothing to put together
                self.unread = b""
                body_at = 8 + header_length
                return loads(data[8:body_at].decode()), data[body_at:]
        length, header_length = PREFIX.unpack(self.read(8))
        frame = self.read(length - 4)
        return loads(frame[:header_length].decode()), frame[header_length:]

    def has_frame(self):
        """Whether a frame has arrived, at least in part."""
        return bool(self.unread)

    def handle(self, header, body):
        kind = header["t"]
        if kind == "run":
            self.answer_run(header, body)
            return
        if kind == "park":
            self.park(header["run"])
        elif kind == "rehearse":
            self.rehearse()
        elif kind == "calm":
            self.interpreter.interrupt_pending = False  # it was for the previous request and arrived too late
            self.send({"t": "calmed"})
        elif kind == "fork":
            self.fork(header)
        elif kind == "reap":
            reap(header["pids"])
        elif kind == "expose":
            self.expose(body)
        else:
            self.request(kind, header)
            self.prepare()
        self.look_at_cpu()  # none of this is the next run's

    def answer_run(self, header, body):
        if _thread._count():
            self.prepare()  # threads of user code kept running between the runs
            self.look_at_cpu()
        done = self.run(header, body)
        done["t"] = "done"
        done["id"] = header["id"]
        self.send(done)
        self.prepare()

    def expose(self, body):
        """Imported only if the host exposes functions."""
        from .guest_calls import GuestCalls

        if self.calls is None:
            self.calls = GuestCalls(self)
        self.calls.functions.expose(loads(body.decode()))

    def look_at_cpu(self):
        self.cpu_before = cpu_seconds(getrusage(RUSAGE_SELF))
        self.children_before = cpu_seconds(getrusage(RUSAGE_CHILDREN))

    def add_usage(self, done):
        """What the run used. The peak is that of this process so far: the operating system keeps no other.

        The next run counts from here. It is charged for sending this result, some 30 microseconds: another look would
        compete with the supervisor and the host for the processor.
        """
        own = getrusage(RUSAGE_SELF)
        now = own[0] + own[1]
        cpu = now - self.cpu_before
        self.cpu_before = now
        if cpu > NO_CHILD_SECONDS:
            children = cpu_seconds(getrusage(RUSAGE_CHILDREN))
            cpu += children - self.children_before
            self.children_before = children
        done["cpuUs"] = int(cpu * 1e6)
        done["peakBytes"] = own[2] * MAXRSS_UNIT

    def request(self, kind, header):
        reply = {"t": "reply", "id": header["id"], "ok": True}
        try:
            if kind == "vars":
                self.send_data(header["id"], self.interpreter.variables())
            elif kind == "get":
                data = self.interpreter.get(header["expression"], header["format"], header["maxBytes"])
                self.send_data(header["id"], data)
            elif kind in ("complete", "inspect"):
                self.send_data(header["id"], self.interpreter.look(kind, header))
            elif kind == "set":
                self.interpreter.set(header["name"], header["format"], self.receive(header["size"]))
            elif kind == "snapshot":
                self.send_snapshot(header)
            elif kind == "restore":
                data = self.receive(header["size"])
                failed = self.interpreter.restore(data, self.allowance(header, len(data)))
                self.send_data(header["id"], dumps(failed).encode())
        except KernelError as error:
            reply.update(ok=False, code=error.code, message=error.message)
        except BaseException as error:
            reply.update(ok=False, code="expression_failed", message=type(error).__name__)
        self.send(reply)

    def send_data(self, request_id, data):
        view = memoryview(data)
        for at in range(0, len(view), PIECE):
            self.send({"t": "data", "id": request_id}, view[at : at + PIECE])

    def send_snapshot(self, header):
        sent = 0
        # the rest is for names, and for the reasons why values were skipped
        for piece in self.interpreter.snapshot(self.allowance(header, header["maxBytes"] * 15 // 16)):
            sent += len(piece)
            if sent > header["maxBytes"]:
                raise KernelError("too_large", "the variables take more than %d bytes" % header["maxBytes"])
            self.send_data(header["id"], piece)

    def allowance(self, header, most_bytes):
        from .allowance import Allowance

        return Allowance(header["timeoutMs"] / 1000, most_bytes, header.get("maxValueBytes", most_bytes))

    def receive(self, size):
        """`size` raw bytes, read in place: bytes are not cleared first and not copied."""
        if size == 0:
            return b""
        data, view = uninitialised_bytes(size)
        at = min(size, len(self.unread))
        view[:at] = self.read(at)
        while at < size:
            count = posix.readv(self.requests, [view[at:]])
            if count == 0:
                posix._exit(0)
            at += count
        return data

    def run(self, header, body):
        """How the run ended, with what it used."""
        done = self.run_program(header, body) if "program" in header else self.run_code(header, body)
        self.add_usage(done)
        return done

    def run_program(self, header, body):
        """A run with a name, arguments or standard input."""
        from .program import Program

        if header["program"].get("stdin"):
            (pipe,) = receive_descriptors(self.replies, 1)
            posix.dup2(pipe, 0)  # until `prepare`
            posix.close(pipe)
        with Program(self.interpreter.namespace, header["program"]):
            return self.run_code(header, body)

    def run_code(self, header, body):
        return self.run_shell(header, body) if header["language"] == "bash" else self.run_python(header, body)

    def run_python(self, header, body):
        coroutine = self.interpreter.execute(header["id"], str(body, "utf-8", "replace"))
        try:
            coroutine.send(None)
        except StopIteration as end:
            return end.value
        return {"status": "error", "exitCode": 1}

    def run_shell(self, header, body):
        from .shell import Shell

        if self.shell is None:
            self.shell = Shell()
        program = header.get("program", {})
        return self.shell.run(body, self.interpreter, program.get("file", "bash"), program.get("args", ()))

    async def run_coroutine(self, coroutine):
        """Top-level await: the session's event loop continues where the last run left it."""
        import asyncio

        if self.loop is None or self.loop.is_closed():
            self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)
        task = self.loop.create_task(coroutine)
        try:
            return self.loop.run_until_complete(task)
        except KeyboardInterrupt:
            task.cancel()
            try:
                self.loop.run_until_complete(task)
            except BaseException:
                pass
            raise

    def prepare(self):
        """Undoes what user code may have done to the streams and the interrupt. Called after a run, when nobody waits."""
        posix.dup2(self.nothing, 0)
        posix.dup2(self.out[0], 1)
        posix.dup2(self.out[1], 2)
        if getattr(sys.stdout, "codecell", None) is not self or sys.stdout.closed:
            sys.stdout = sys.__stdout__ = self.stream(1)
        if getattr(sys.stderr, "codecell", None) is not self or sys.stderr.closed:
            sys.stderr = sys.__stderr__ = self.stream(2)
        _signal.signal(_signal.SIGINT, self.interrupt)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, [_signal.SIGINT])

    def stream(self, fd):
        raw = io.BufferedWriter(io.FileIO(fd, "w", closefd=False), 32768)
        stream = Stream(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        stream.codecell = self
        return stream

    def interrupt(self, _signal_number, _frame):
        try:
            self.send({"t": "noticed"})
        except OSError:
            pass  # user code closed the socket, and must be stopped all the same
        if self.interpreter.user_code:
            raise KeyboardInterrupt
        self.interpreter.interrupt_pending = True  # it arrived before the run started, or while it was being compiled

    def park(self, run_id):
        """Makes a frozen copy. The copy returns from here only if the supervisor wakes it to replace the worker."""
        self.interpreter.flush()
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGUSR2])
        try:
            pid, forks = self.fork_sibling()
            if pid == 0:
                self.sleep(run_id, forks)
            elif forks == 1:
                self.send({"t": "copied", "pid": pid})
        except OSError:
            self.send({"t": "unparked"})
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)

    def fork(self, header):
        """Forks a second worker with this state and its own descriptors. This worker continues as before."""
        descriptors = receive_descriptors(self.replies, 4)
        reply = {"t": "reply", "id": header["id"], "ok": True}
        self.interpreter.flush()
        try:
            pid, forks = self.fork_sibling()
            if pid == 0:
                self.become_fork(descriptors, bytes.fromhex(header["token"]), forks)
                return
        except OSError as error:
            reply.update(ok=False, code="too_large", message="the worker could not fork: %s" % error.strerror)
        for fd in descriptors:
            posix.close(fd)
        self.send(reply)

    def become_fork(self, descriptors, token, forks):
        posix.setsid()
        old = (self.requests, self.replies, *self.out)
        self.requests, self.replies = descriptors[:2]
        self.out = tuple(descriptors[2:])
        self.token = token
        self.unread = b""
        for fd in old:
            posix.close(fd)
        if self.calls is not None:
            self.calls.begin()
        self.prepare()
        self.send({"t": "forked", "pid": posix.getpid(), "forks": forks})

    def sleep(self, run_id, forks):
        posix.setsid()  # out of reach of kill(0), killpg and terminals
        set_oom_score(0)
        set_dumpable(0)
        set_name(b"parked")
        self.send({"t": "parked", "pid": posix.getpid(), "run": run_id, "forks": forks})
        while _signal.sigwaitinfo([_signal.SIGUSR2]).si_pid != posix.getppid():
            pass
        set_oom_score(1000)
        set_name(b"python3")
        self.drain()
        if self.calls is not None:
            self.calls.begin()
        self.send({"t": "resumed"})

    def drain(self):
        """Discards what the dead worker did not read: it is not for this one."""
        self.unread = b""
        posix.set_blocking(self.requests, False)
        try:
            while posix.read(self.requests, 65536):
                pass
        except BlockingIOError:
            pass
        posix.set_blocking(self.requests, True)
        discard_descriptors(self.replies)


def uninitialised_bytes(size):
    """A new bytes object, and a view to fill it through."""
    from ctypes import c_char, c_ssize_t, c_void_p, py_object, pythonapi

    make, address = pythonapi.PyBytes_FromStringAndSize, pythonapi.PyBytes_AsString
    make.restype, make.argtypes = py_object, [c_void_p, c_ssize_t]
    address.restype, address.argtypes = c_void_p, [py_object]
    data = make(None, size)
    return data, memoryview((c_char * size).from_address(address(data))).cast("B")


def shortened(header):
    """Truncates a header that is too large for a packet: a character outside ASCII takes up to twelve bytes."""
    short = dict(header)
    if "result" in short:
        short.update(result=short["result"][:4000], resultTruncated=True)
    if "error" in short:
        short["error"] = {field: cut(text, 4000) for field, text in short["error"].items()}
    return short


def reap(ended):
    """Reaps children that the supervisor killed after the last run: zombies would count towards the process limit."""
    for pid in ended:
        try:
            posix.waitpid(pid, posix.WNOHANG)
        except OSError:
            pass


def cpu_seconds(usage):
    """User and system time: of this process with its threads, or of the children that it has waited for."""
    return usage[0] + usage[1]


class Stream(io.TextIOWrapper):
    """A text stream that can carry a mark, so that a replaced stream is noticed."""


def main(requests, replies, out, err, token, config, notify_filter):
    """Runs in the forked child; never returns."""
    try:
        _signal.set_wakeup_fd(-1)
        null = posix.open("/dev/null", posix.O_RDWR)
        posix.dup2(null, 0)
        posix.dup2(out, 1)
        posix.dup2(err, 2)
        posix.setsid()
        for signal in (_signal.SIGCHLD, _signal.SIGPIPE):
            _signal.signal(signal, _signal.SIG_DFL)
        _signal.signal(_signal.SIGPIPE, _signal.SIG_IGN)
        set_oom_score(1000)
        listener = add_reporting_filter(notify_filter) if notify_filter else -1
        if notify_filter:
            send_again_if_interrupted()
        send_descriptor(replies, listener)
        give_up_headroom()
        close_all_but((0, 1, 2, requests, replies))
        _signal.signal(_signal.SIGINT, _signal.SIG_IGN)
        sys.argv[:] = [""]
        worker = Worker(requests, replies, token)
        worker.rehearse.notice_audit_hooks()
        worker.prepare()
        worker.interpreter.begin(config)
        set_name(b"python3")
        worker.send({"t": "ready"})
        import os  # noqa: F401  most programs need it: imported after `ready` was sent, so nobody waits

        sys.path.insert(0, "")  # after importing os: a file os.py in the workspace must not replace it
    except BaseException as error:
        text = "%s: %s" % (type(error).__name__, error)
        packet = dumps({"t": "failed", "reason": text[:2000]}).encode()
        posix.writev(replies, [token, len(packet).to_bytes(4, "little"), packet])
        posix._exit(1)
    worker.serve_for_ever()
