"""Calls from user code to the host, from any thread. The supervisor checks and limits them.

Answers arrive on the same pipe as requests. Whoever waits and finds nobody reading becomes the reader. It hands each frame to
the thread that waits for it, and passes the role on when its own answer is complete.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import select
from _signal import SIG_BLOCK, SIG_SETMASK, pthread_sigmask, valid_signals
from _thread import allocate_lock, get_ident

from .descriptors import receive_descriptors
from .guest_functions import Answer, GuestFunctions, HostError

PIECE = 128 << 10
MAX_ARGUMENT_BYTES = 16 << 20
SIGNALS = valid_signals()
MAX_OPEN = 64  # the supervisor refuses more
FORKED = "a forked process cannot call the host: call it from the process that runs the program"
NESTED = "a signal handler or finalizer cannot call the host: call it from the program itself"


class Waiting:
    """A thread that waits for frames."""

    def __init__(self, inputs=None):
        self.inputs = inputs
        self.frames = []
        self.turn = allocate_lock()  # held while there is nothing to do
        self.turn.acquire()

    def give(self, header, body):
        self.frames.append((header, body))
        self.wake()

    def wake(self):
        if self.turn.locked():
            self.turn.release()


class GuestCalls:
    def __init__(self, worker):
        self.worker = worker
        self.interpreter = worker.interpreter
        self.functions = GuestFunctions(self.call, lambda: worker.interpreter.namespace)
        self.latest = 0
        self.begin()

    def begin(self):
        """In a new process, the other threads are gone, and so is what they waited for."""
        self.pid = posix.getpid()
        self.main = get_ident()
        self.guard = allocate_lock()
        self.main_waits = False  # whether the main thread is in a call
        self.open = 0
        self.queue = []  # threads that wait for a slot
        self.waiting = {}
        self.requests = Waiting()
        self.is_read = False  # whether a thread is reading now
        self.is_owned = False  # whether the main thread may read directly: it handles a request that is not a run
        self.poll = select.poll()
        self.poll.register(self.worker.requests, select.POLLIN)

    # ---------------------------------------------------------------- user code calls

    def call(self, name, data, inputs):
        """The answer as bytes. Raises HostError."""
        if posix.getpid() != self.pid:
            raise HostError(FORKED)
        if len(data) > MAX_ARGUMENT_BYTES:
            raise HostError("the arguments take %d bytes; the limit is %d" % (len(data), MAX_ARGUMENT_BYTES))
        if get_ident() != self.main:
            return self.perform(name, data, Waiting(inputs), False)
        if self.main_waits or not self.interpreter.user_code:
            raise HostError(NESTED)  # it would wait for the thread that it interrupts
        # A handler that raises, such as one for SIGALRM, must not tear a frame or leave a slot taken. Signals are blocked
        # here and taken where this waits. (If other threads do not block a signal, its handler can still run here.)
        self.mask = pthread_sigmask(SIG_BLOCK, ())
        try:
            pthread_sigmask(SIG_BLOCK, SIGNALS)
            self.main_waits = True
            self.interpreter.user_code = False  # the same for an interrupt
            return self.perform(name, data, Waiting(inputs), True)
        finally:
            self.main_waits = False
            try:
                self.interpreter.take_interrupts()
            finally:
                pthread_sigmask(SIG_SETMASK, self.mask)

    def perform(self, name, data, waiting, is_main):
        number = None
        try:
            self.enter(waiting, is_main)
            with self.guard:
                self.latest += 1
                number = self.latest
                self.waiting[number] = waiting
            self.send(number, name, data)
            return self.answer(waiting, is_main)
        except HostError:
            raise
        except BaseException:
            if number is not None:
                self.worker.send({"t": "call.drop", "call": number})  # an interrupt: nobody waits for the answer any more
            raise
        finally:
            with self.guard:
                self.waiting.pop(number, None)
            self.leave()

    def enter(self, waiting, is_main):
        """Waits for a slot, in the order of arrival."""
        with self.guard:
            if self.open < MAX_OPEN:
                self.open += 1
                return
            self.queue.append(waiting)
        try:
            self.pause(waiting, is_main)
        except BaseException:
            with self.guard:
                if waiting in self.queue:
                    self.queue.remove(waiting)
                    self.open += 1  # `leave` follows
            raise

    def leave(self):
        with self.guard:
            if self.queue:
                self.queue.pop(0).wake()  # it takes over this slot
            else:
                self.open -= 1

    def send(self, number, name, data):
        view = memoryview(data)
        header = {"t": "call", "call": number, "name": name, "size": len(view)}
        self.worker.send(header, view[:PIECE])
        for at in range(PIECE, len(view), PIECE):
            self.worker.send({"t": "call", "call": number}, view[at : at + PIECE])

    def answer(self, waiting, is_main):
        answer = Answer()
        while True:
            header, body = self.next_for(waiting, is_main)
            if header["t"] == "fork":
                self.fork(header, waiting)
                continue
            whole = answer.add(header, body)
            if whole is not None:
                return whole

    # ---------------------------------------------------------------- who reads the pipe

    def next_request(self):
        """For the main thread, between two requests."""
        with self.guard:
            if self.is_owned:
                self.is_owned = self.is_read = False
        return self.next_for(self.requests, is_interruptible=False)

    def next_for(self, waiting, is_interruptible):
        while True:
            with self.guard:
                if waiting.frames:
                    return waiting.frames.pop(0)
                reads = not self.is_read
                self.is_read = True
            if not reads:
                self.pause(waiting, is_interruptible)
                continue
            try:
                if not self.worker.has_frame():
                    self.wait_for_data(is_interruptible)
                header, body = self.worker.read_frame()
            except BaseException:
                self.pass_on(waiting)
                raise
            self.hand_out(header, body)
            self.pass_on(waiting)

    def pass_on(self, but):
        """Another thread has to read if this one does not come back."""
        with self.guard:
            if self.is_owned:
                return
            self.is_read = False
            for one in (*self.waiting.values(), self.requests):
                if one is not but and not one.frames:
                    one.wake()
                    return

    def hand_out(self, header, body):
        kind = header["t"]
        if kind == "fork" and "call" in header:
            # Received here, in order: two forks at once must not swap their descriptors.
            header["descriptors"] = receive_descriptors(self.worker.replies, 4)
        if kind != "answer" and "descriptors" not in header:
            self.is_owned = kind != "run"
            self.requests.give(header, body)
            return
        with self.guard:
            waiting = self.waiting.get(header["call"])
            if waiting is not None:
                waiting.give(header, body)
        if waiting is None and "descriptors" in header:
            self.refuse_fork(header, "the call has ended")

    def wait_for_data(self, is_interruptible):
        if not is_interruptible:
            self.poll.poll()
            return
        self.interpreter.take_interrupts()
        try:
            pthread_sigmask(SIG_SETMASK, self.mask)
            self.poll.poll()
        finally:
            self.interpreter.user_code = False
            pthread_sigmask(SIG_BLOCK, SIGNALS)

    def pause(self, waiting, is_interruptible):
        if not is_interruptible:
            waiting.turn.acquire()
            return
        self.interpreter.take_interrupts()
        try:
            pthread_sigmask(SIG_SETMASK, self.mask)
            waiting.turn.acquire()
        finally:
            self.interpreter.user_code = False
            pthread_sigmask(SIG_BLOCK, SIGNALS)

    # ---------------------------------------------------------------- sub-agents

    def fork(self, header, waiting):
        """Forks in the middle of a call. The new process never returns from it: it serves requests of its own."""
        worker = self.worker
        self.interpreter.flush()
        try:
            pid, forks = worker.fork_sibling()
        except OSError as error:
            self.refuse_fork(header, "the worker could not fork: %s" % error.strerror)
            return
        if pid:
            for fd in header["descriptors"]:
                posix.close(fd)
            worker.send({"t": "reply", "id": header["id"], "ok": True})
            return
        inputs = waiting.inputs[header["item"]] if waiting.inputs else {}
        worker.interpreter.namespace.update(inputs)
        worker.loop = None  # it is in the middle of something
        if get_ident() == self.main:
            pthread_sigmask(SIG_SETMASK, self.mask)  # the call that blocked signals never returns here
        worker.interpreter.user_code = worker.interpreter.interrupt_pending = False
        worker.become_fork(header["descriptors"], bytes.fromhex(header["token"]), forks)
        worker.serve_for_ever()

    def refuse_fork(self, header, message):
        for fd in header["descriptors"]:
            posix.close(fd)
        self.worker.send({"t": "reply", "id": header["id"], "ok": False, "code": "too_large", "message": message})
