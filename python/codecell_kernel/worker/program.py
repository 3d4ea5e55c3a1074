"""What a program finds around it: its name, its arguments and its standard input. Only runs that name one of them come here."""
from ..shared.pristine import BUILTINS, BUILTINS as __builtins__  # noqa: A001
import builtins
import io
import sys

FILE, ARGV = "__file__", "argv"


class Program:
    """Holds during one run. Afterwards everything is as it was, and what nobody has read of the input is gone."""

    def __init__(self, namespace, program):
        self.namespace = namespace
        self.file = program.get("file")
        self.arguments = program.get("args", [])
        self.has_input = program.get("stdin", False)
        self.neighbours = None
        if "path" in program:
            from .neighbours import Neighbours

            self.neighbours = Neighbours(program.get("directory"), program["path"])

    def __enter__(self):
        self.argv = getattr(sys, ARGV, [""])
        sys.argv = [self.file or "", *self.arguments]
        if self.file is not None:
            self.namespace[FILE] = self.file
        if self.neighbours is not None:
            self.neighbours.enter()
        if self.has_input:
            self.before = getattr(sys, "stdin", None), getattr(builtins, "input", None)
            self.stream = sys.stdin = input_stream()
            builtins.input = BUILTINS["input"]

    def __exit__(self, *_):
        sys.argv = self.argv
        if self.neighbours is not None:
            self.neighbours.leave()
        if self.file is not None and self.namespace.get(FILE) is self.file:
            del self.namespace[FILE]
        if not self.has_input:
            return
        stream, ask = self.before
        if getattr(sys, "stdin", None) is self.stream:  # unless the program replaced it
            sys.stdin = stream
        if getattr(builtins, "input", None) is BUILTINS["input"]:
            builtins.input = ask


def input_stream():
    raw = io.FileIO(0, "r", closefd=False)
    raw.name = "<stdin>"
    return io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8")
