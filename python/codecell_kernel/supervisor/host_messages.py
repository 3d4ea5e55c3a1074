"""Which messages of the host make sense. The host is trusted, but a bug in it must not end a session and its variables."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001

from ..shared.frames import PREFIX, is_one_frame

MOST = 1 << 53
RUN_START = b'{"t":"run","id":'
ID_AT = 8 + len(RUN_START)
ID_DIGITS = 15  # of a number below 2 ** 53
MAX_KNOWN = 16


def number(value):
    return type(value) is int and 0 <= value < MOST


def milliseconds(value):
    return type(value) in (int, float) and 0 <= value < 1 << 40


def text(value):
    return type(value) is str


def texts(value):
    return type(value) is list and all(type(one) is str for one in value)


def names(value):
    return texts(value) and bool(value)


def flag(value):
    return type(value) is bool


def program(value):
    return type(value) is dict and fits(value, {}, {"file": text, "args": texts, "stdin": flag, "directory": text, "path": texts})


def error(value):
    return type(value) is dict and fits(value, {"type": text, "message": text}, {})


def variables(value):
    return type(value) is dict and all(type(one) is str for one in value.values())


FILE = {"path": text, "timeoutMs": milliseconds}
UPLOAD = {"upload": number, "timeoutMs": milliseconds}
# kind: the fields it needs besides its id, and those it may have
MESSAGES = {
    "start": (
        {"env": variables, "path": texts, "preload": texts, "background": flag, "recovery": flag},
        {"watchMemoryBytes": number, "watchProcesses": number, "egress": flag, "authorities": text},
    ),
    "run": (
        {"language": text, "timeoutMs": milliseconds, "outputBytes": number},
        {"program": program, "hostWaitMs": milliseconds},
    ),
    "in": ({}, {"end": flag}),
    "interrupt": ({}, {}),
    "vars": ({"timeoutMs": milliseconds}, {}),
    "get": ({"expression": text, "format": text, "maxBytes": number, "timeoutMs": milliseconds}, {}),
    "complete": ({"kind": text, "path": texts, "prefix": text, "timeoutMs": milliseconds}, {}),
    "inspect": ({"path": names, "source": flag, "timeoutMs": milliseconds}, {}),
    "set": ({"name": text, "format": text, "size": number, "timeoutMs": milliseconds}, {}),
    "data": ({}, {}),
    "reset": ({}, {}),
    "checkpoint": ({"name": text}, {}),
    "rollback": ({"name": text}, {}),
    "forget": ({"name": text}, {}),
    "fork": ({"into": number}, {"call": number, "item": number}),
    "expose": ({}, {}),
    "answer": ({"call": number}, {"ok": flag, "size": number, "error": error}),
    "leave": ({}, {}),
    "snapshot": (
        {"maxBytes": number, "timeoutMs": milliseconds},
        {"maxValueBytes": number, "maxItems": number, "graceMs": milliseconds},
    ),
    "restore": ({"size": number, "timeoutMs": milliseconds}, {}),
    "file.read": (dict(FILE, start=number, end=number), {}),
    "file.write": (dict(UPLOAD, size=number), {}),
    "file.place": (dict(UPLOAD, path=text), {}),
    "file.drop": (UPLOAD, {}),
    "file.remove": (FILE, {}),
    "file.list": ({"prefix": text, "after": text, "limit": number, "timeoutMs": milliseconds}, {}),
    "usage": ({}, {}),
    "net.data": ({}, {}),
    "net.end": ({}, {}),
    "net.close": ({}, {}),
    "net.credit": ({"bytes": number}, {}),
}


def makes_sense(header):
    """Whether the message has what its kind needs, and nothing of another type. Other kinds are the worker's to answer."""
    kind = header.get("t")
    if type(kind) is not str or not number(header.get("branch", 0)):
        return False
    needed, optional = MESSAGES.get(kind, ({}, {}))
    return (kind == "start" or number(header.get("id"))) and fits(header, needed, optional)


def fits(values, needed, optional):
    for name, is_valid in needed.items():
        if name not in values or not is_valid(values[name]):
            return False
    for name, is_valid in optional.items():
        if name in values and not is_valid(values[name]):
            return False
    return True


class PlainRuns:
    """Recognizes runs that differ from an earlier one only in their id and code: most runs need no JSON parser here."""

    def __init__(self):
        self.known = {}  # what follows the id in a header that was parsed and checked, to that header

    def header_of(self, data):
        """The header of a run that is known but for its id; None for everything else."""
        if data[8:ID_AT] != RUN_START or not is_one_frame(data):
            return None
        end = data.find(b",", ID_AT, ID_AT + ID_DIGITS + 1)
        known = self.known.get(data[end : 8 + PREFIX.unpack_from(data)[1]]) if end > 0 else None
        digits = data[ID_AT:end]
        if known is None or not digits.isdigit() or digits[:1] == b"0":
            return None
        header = known.copy()
        header["id"] = int(digits)
        return header

    def learn(self, data, header):
        """`header` is that of a plain run, as the parser read it."""
        end = data.find(b",", ID_AT, ID_AT + ID_DIGITS + 1)
        if data[8:ID_AT] == RUN_START and end > 0:
            if len(self.known) >= MAX_KNOWN:
                self.known.clear()
            self.known[data[end : 8 + PREFIX.unpack_from(data)[1]]] = header
