"""Runs nothing, right after a copy was made.

Every page is shared with the copy, and is copied when it is written to: those that any run writes to are copied now, while
nobody waits, and not in the next run.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys
from gc import disable, enable, isenabled
from sys import getprofile, gettrace

from ..shared.frames import REHEARSAL
from ..shared.lean_json import dumps

get_tool = getattr(getattr(sys, "monitoring", None), "get_tool", None)  # since Python 3.12
SAMPLE = "import x\nfor y in [0]:\n    x += f(f'{y}')\nx.y[0] == 1"  # what programs are made of; compiled, never run


class Rehearsal:
    def __init__(self, interpreter, run):
        """run(header, body) gives how a run ended."""
        self.interpreter = interpreter
        self.run = run
        self.has_audit_hook = False

    def __call__(self):
        collects = isenabled()
        disable()  # collecting garbage would write to every page there is
        try:
            if not self.is_watched():
                self.interpreter.compile("<rehearsal>", SAMPLE)
                done = self.run({"id": REHEARSAL, "language": "python"}, b"None")
                dumps(dict(done, t="done", id=REHEARSAL)).encode()
                if done["status"] == "interrupted":
                    self.interpreter.interrupt_pending = True  # it is for the next run, which is on its way here
        except BaseException:
            pass  # no memory left: the next run meets it as well, and tells
        finally:
            if collects:
                enable()

    def is_watched(self):
        """Whether user code follows each step of this process: it would take a rehearsal for a run of its own."""
        if self.has_audit_hook or gettrace() is not None or getprofile() is not None:
            return True
        return get_tool is not None and any(get_tool(number) for number in range(6))

    def notice_audit_hooks(self):
        """There is no way to ask for them."""
        real = sys.addaudithook

        def addaudithook(hook):
            self.has_audit_hook = True
            return real(hook)

        sys.addaudithook = addaudithook
