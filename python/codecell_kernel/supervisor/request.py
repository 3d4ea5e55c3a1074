"""One request of the host, from its arrival to its end."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001

BULK = ("set", "restore")  # their bodies follow as `data` frames


class Request:
    deadline = None
    is_answered = False  # the worker has forked: of a fork or a checkpoint, whose new process is still to come
    ending = None  # why the supervisor ends it
    interrupt_at = None  # when it is interrupted once more, unless it has noticed
    had_last_call = False  # the interrupt that comes before the kill
    began = 0.0
    sent = 0  # bytes of its output that went to the host
    granted = 0

    def __init__(self, header, frame=b""):
        """`frame` is the request as it came: the worker gets the same bytes, unless it has them already."""
        self.header = header
        self.frame = frame
        self.id = header["id"]
        self.kind = header["t"]
        self.is_run = self.kind == "run"
        self.is_bulk = self.kind in BULK
        self.timeout = header["timeoutMs"] / 1000 if "timeoutMs" in header else None
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

    def reply(self, ok=True, **fields):
        return dict({"t": "reply", "id": self.id, "ok": ok}, **fields)
