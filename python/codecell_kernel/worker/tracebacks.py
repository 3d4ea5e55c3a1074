"""Tracebacks as a normal program would print them: with source lines and without frames of the kernel."""
from ..shared.pristine import BUILTINS as __builtins__, restored  # noqa: A001
import sys

MAX_CHARACTERS = 20_000
KEPT_SOURCES = 256
PACKAGE = __file__.rpartition("/worker/")[0] + "/"


class Sources:
    """Source text of the latest runs, by the file name in their code objects."""

    def __init__(self):
        self.texts = {}

    def remember(self, filename, code):
        self.texts[filename] = code
        if len(self.texts) > KEPT_SOURCES:
            oldest = next(iter(self.texts))
            del self.texts[oldest]
            if "linecache" in sys.modules:
                sys.modules["linecache"].cache.pop(oldest, None)
        if "linecache" in sys.modules:
            self.publish(filename)

    def publish(self, filename):
        """Adds one text to `linecache`, which `traceback` and `inspect` use."""
        text = self.texts[filename]
        lines = [line + "\n" for line in text.splitlines()]
        sys.modules["linecache"].cache[filename] = (len(text), None, lines, filename)

    def publish_all(self):
        for filename in self.texts:
            self.publish(filename)


def describe(error, sources):
    """The `error` field of a run's result. Never raises, whatever the exception's class does."""
    name = class_name(error)
    try:
        message = str(error)
    except BaseException:
        message = "<the exception could not be printed>"
    try:
        with restored():
            text = format_error(error, sources)
    except BaseException:
        text = name + ": " + message
    return {"name": cut(name, 200), "message": cut(message, 4000), "traceback": cut(text, MAX_CHARACTERS)}


def class_name(error):
    """The name of its class as a traceback prints it: with the module, unless that is built in or the program itself."""
    kind = type(error)
    try:
        name, module = kind.__qualname__, kind.__module__
        if module not in ("builtins", "__main__"):
            name = module + "." + name
        return name + ""
    except BaseException:  # a metaclass may answer anything
        return type.__dict__["__name__"].__get__(kind)


def format_error(error, sources):
    import traceback

    sources.publish_all()
    report = traceback.TracebackException(type(error), error, error.__traceback__, limit=-64)
    pending, seen = [report], set()
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.stack = traceback.StackSummary.from_list([f for f in one.stack if not is_kernel_frame(f.filename)])
        pending += [one.__cause__, one.__context__, *(getattr(one, "exceptions", None) or ())]
    return "".join(report.format())


def is_kernel_frame(filename):
    return filename.startswith(PACKAGE)


def cut(text, limit):
    """Truncates in the middle: the end of a traceback is what a reader needs."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return text[:half] + "\n... " + str(len(text) - 2 * half) + " characters truncated ...\n" + text[-half:]
