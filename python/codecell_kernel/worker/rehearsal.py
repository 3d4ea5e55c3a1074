"""Runs an empty program right after a copy was made.

The worker shares all pages with its copy, and Linux copies a page on the first write. This writes to the pages that every
run writes to, so that they are copied now and not during the next run.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys
from gc import disable, enable, isenabled
from sys import getprofile, gettrace

from ..shared.frames import REHEARSAL
from ..shared.lean_json import dumps

get_tool = getattr(getattr(sys, "monitoring", None), "get_tool", None)  # since Python 3.12
SAMPLE = "import x\nfor y in [0]:\n    x += f(f'{y}')\nx.y[0] == 1"  # typical syntax; compiled but never run


class Rehearsal:
    def __init__(self, interpreter, run):
        """run(header, body) returns how a run ended."""
        self.interpreter = interpreter
        self.run = run
        self.has_audit_hook = False

    def __call__(self):
        collects = isenabled()
        disable()  # a garbage collection would write to every page
        try:
            if not self.is_watched():
                self.interpreter.compile("<rehearsal>", SAMPLE)
                done = self.run({"id": REHEARSAL, "language": "python"}, b"None")
                dumps(dict(done, t="done", id=REHEARSAL)).encode()
                if done["status"] == "interrupted":
                    self.interpreter.interrupt_pending = True  # it was meant for the next run, which is about to arrive
        except BaseException:
            pass  # out of memory: the next run will report it
        finally:
            if collects:
                enable()

    def is_watched(self):
        """Whether user code traces this process: it would take a rehearsal for one of its own runs."""
        if self.has_audit_hook or gettrace() is not None or getprofile() is not None:
            return True
        return get_tool is not None and any(get_tool(number) for number in range(6))

    def notice_audit_hooks(self):
        """Wraps sys.addaudithook: Python has no way to list the hooks."""
        real = sys.addaudithook

        def addaudithook(hook):
            self.has_audit_hook = True
            return real(hook)

        sys.addaudithook = addaudithook
