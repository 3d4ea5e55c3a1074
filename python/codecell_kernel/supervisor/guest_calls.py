"""Calls from a worker to the host. User code can forge all of them, so they are checked, counted and bounded here."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic

from ..shared.frames import REHEARSAL
from . import claims

MAX_OPEN = 64
MAX_NAME = 64
MAX_ARGUMENT_BYTES = 16 << 20
ANSWER_WINDOW = 1 << 20  # the host has the same number
MAX_REFUSALS = 256  # a forger that reads none of its answers gets no more of them
TOO_MANY = "more than %d calls to the host are open" % MAX_OPEN
NO_RUN = "the host can be called only while a run is active"
ENDED = "the run has ended"


class GuestCalls:
    def __init__(self, branch):
        self.branch = branch
        self.open = {}  # call to the bytes of its arguments that are still to come
        self.answers = {}  # call to the bytes of its answer that are still to come
        self.owed = 0  # bytes of answers whose credit has not been returned to the host
        self.refused = []  # calls to refuse once the worker can take a frame
        self.paused_at = None  # since when the run's time stands still
        self.waited = 0.0  # seconds for which this run's time stood still

    # ---------------------------------------------------------------- cell to host

    def on_call(self, header, body):
        number, active = header.get("call"), self.branch.active
        if not claims.is_whole(number):
            return
        if active is None or not active.is_run or active.id == REHEARSAL:
            self.refuse(number, NO_RUN)
        elif "name" not in header:
            self.on_more(number, body)
        elif number not in self.open:
            self.on_first(number, header, body)

    def on_first(self, number, header, body):
        name, size = header.get("name"), header.get("size")
        if type(name) is not str or len(name) > MAX_NAME or not claims.is_whole(size, MAX_ARGUMENT_BYTES) or len(body) > size:
            self.refuse(number, "the call is malformed")
        elif len(self.open) >= MAX_OPEN:
            self.refuse(number, TOO_MANY)
        else:
            self.open[number] = size - len(body)
            self.pause()
            self.tell({"t": "call", "call": number, "name": name, "size": size}, body)

    def on_more(self, number, body):
        if body and len(body) <= self.open.get(number, 0):
            self.open[number] -= len(body)
            self.tell({"t": "call", "call": number}, body)

    def on_drop(self, number):
        """The program no longer waits for this answer, because an interrupt or a signal handler ended the call."""
        if not claims.is_whole(number) or self.open.pop(number, None) is None:
            return
        self.answers.pop(number, None)
        self.tell({"t": "call.drop", "call": number}, b"")
        if not self.open:
            self.resume()

    def tell(self, header, body):
        header["id"] = self.branch.active.id
        self.branch.tell(header, body)

    def refuse(self, number, message):
        if len(self.refused) < MAX_REFUSALS:
            self.refused.append((number, message))
        self.send_refusals()

    def send_refusals(self):
        """Never during a transfer: a frame among its raw bytes would be taken for data."""
        active, link = self.branch.active, self.branch.link
        if (active is not None and not active.is_run) or not link.is_up:
            return
        while self.refused and link.outlet.size < ANSWER_WINDOW:
            number, message = self.refused.pop(0)
            link.send({"t": "answer", "call": number, "ok": False, "error": {"type": "HostError", "message": message}})

    # ---------------------------------------------------------------- host to cell

    def on_answer(self, header, body, frame):
        """An answer, or a piece of one. Dropped if the call's run has ended, because the worker no longer waits."""
        active, number = self.branch.active, header["call"]
        self.owed += len(body)
        if active is not None and active.id == header["id"] and number in self.open:
            if "ok" in header:
                self.answers[number] = header.get("size", 0) if header["ok"] else 0
            self.answers[number] -= len(body)
            self.branch.link.outlet.write(bytes(frame))
            if self.answers[number] <= 0:
                del self.open[number], self.answers[number]
                if not self.open:
                    self.resume()

    def grant(self):
        """Returns credit, so that less than a window of answers waits for the worker. Called after every step of the supervisor:
        the worker's outlet empties by writes as well as by events.
        """
        if self.refused:
            self.send_refusals()
        if self.owed >= ANSWER_WINDOW // 4 and self.branch.link.outlet.size < ANSWER_WINDOW // 2:
            self.branch.tell({"t": "call.credit", "bytes": self.owed})
            self.owed = 0

    def close(self):
        """The run has ended: whoever still waits gets an error."""
        for number in self.open:
            self.refused.append((number, ENDED))
        self.forget()
        self.send_refusals()

    def forget(self):
        """Nobody waits any more: the worker is dead."""
        self.open.clear()
        self.answers.clear()
        self.paused_at, self.waited = None, 0.0

    # ---------------------------------------------------------------- the run's time

    def pause(self):
        """The time that the host takes does not count as the run's, up to the limit that the host set."""
        active = self.branch.active
        left = active.header.get("hostWaitMs", 0) / 1000 - self.waited
        if self.paused_at is None and left > 0 and active.deadline is not None and not active.ending:
            self.paused_at = monotonic()
            active.deadline += left

    def resume(self):
        if self.paused_at is None:
            return
        active = self.branch.active
        left = active.header["hostWaitMs"] / 1000 - self.waited
        took = min(left, monotonic() - self.paused_at)
        self.paused_at = None
        self.waited += took
        if not active.ending:
            active.deadline -= left - took
