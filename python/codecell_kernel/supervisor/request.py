"""One request from the host and its progress."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001

BULK = ("set", "restore")  # their bodies follow in `data` frames


class Request:
    deadline = None
    is_answered = False  # fork and checkpoint: the worker has forked, but the new process is not ready yet
    ending = None  # why the supervisor stops it
    interrupt_at = None  # when to repeat the interrupt, if the worker has not noticed it
    had_last_call = False  # the last interrupt before the kill was scheduled
    began = 0.0
    sent = 0  # bytes of output forwarded to the host
    tail = None  # the end of the output, if it is longer than what was forwarded
    held_due = 0.0  # when to tell the host again how much output is held back
    granted = 0  # bytes of credit given to the host
    input = None  # the standard input of a run that has one

    def __init__(self, header, frame=b""):
        """`frame` is the request as received. The worker gets the same bytes, unless it already has them."""
        self.header = header
        self.frame = frame
        self.id = header["id"]
        self.kind = header["t"]
        self.is_run = self.kind == "run"
        self.is_bulk = self.kind in BULK
        self.timeout = header["timeoutMs"] / 1000 if "timeoutMs" in header else None
        self.printed = {}  # bytes by stream

    @property
    def takes_input(self):
        return self.is_run and "program" in self.header and bool(self.header["program"].get("stdin"))

    def close_input(self):
        if self.input is not None:
            self.input.close()

    def done(self, status, state, notes=()):
        """Leaves out what is zero or empty: most runs print nothing, and every field costs time on both sides."""
        done = {"t": "done", "id": self.id, "status": status, "state": state}
        for stream, size in self.printed.items():
            done[stream + "Bytes"] = size
        if notes:
            done["notes"] = list(notes)
        return done

    def reply(self, ok=True, **fields):
        return dict({"t": "reply", "id": self.id, "ok": ok}, **fields)
