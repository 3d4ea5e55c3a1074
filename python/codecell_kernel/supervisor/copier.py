"""Makes the frozen copies of one interpreter: after its runs, in idle time, and when a checkpoint is asked for."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic

from . import claims
from .copies import Copies, Copy
from .processes import freeze_copy, is_there

PARK_SECONDS = 5.0
IDLE_BEFORE_PARK = 0.025
IDLE_COST_FACTOR, LONGEST_IDLE = 20, 0.25  # a costly copy waits for a longer pause
BUSY_COST_FACTOR, LONGEST_WITHOUT_COPY = 200, 1.0  # and runs without a pause pay for one now and then
AUTOMATIC = "automatic"
ROLLED_BACK_ONCE = "variables are as they were at the checkpoint, and there was no room to keep it for another time"
NO_ROOM = "there is no room for a copy: the cell's processes or memory are used up"


class Copier:
    def __init__(self, branch):
        self.branch = branch
        self.copies = Copies(branch.sweeper.end_child)
        self.purpose = None  # what the copy that is being made is for: AUTOMATIC, or a request
        self.unborn = 0  # the copy that is there, and has not announced itself yet
        self.is_stillborn = False  # it ended before it did
        self.at = None  # when the next automatic one is made
        self.began = self.due = self.cost = 0.0
        self.dirty = False  # a run ended since the automatic copy was made
        self.has_gift = False  # the host put values in since then, and no code can make them again

    @property
    def is_busy(self):
        return self.purpose is not None

    def deadlines(self):
        if self.is_stillborn:
            yield 0.0
        if self.at is not None:
            yield self.at
        if self.is_busy:
            yield self.began + PARK_SECONDS

    def on_time(self, now):
        if self.is_stillborn:
            self.on_unparked()
        if self.at is not None and now >= self.at:
            self.park(idle=True)
        if self.is_busy and now >= self.began + PARK_SECONDS:
            # Fork hooks or threads of user code hold the worker: nobody may wait for it for ever.
            self.branch.recovery.end_idle("a copy of its state could not be made within %d seconds" % PARK_SECONDS)

    def plan(self):
        """A copy is made in idle time, hidden from the next run."""
        if self.branch.config["recovery"] and self.dirty:
            self.at = monotonic() + max(IDLE_BEFORE_PARK, min(LONGEST_IDLE, self.cost * IDLE_COST_FACTOR))

    def is_due_before(self, is_run):
        """Runs that come back to back are never without any copy, and get a new one when it is due."""
        if not self.branch.config["recovery"] or not self.dirty:
            return False
        if self.copies.automatic is None or monotonic() > self.due:
            return True
        return self.has_gift and is_run

    def park(self, idle=False):
        self.at = None
        if self.branch.active is None and self.branch.link.ready and not self.is_busy and self.dirty:
            self.make(AUTOMATIC)
            if idle and not self.branch.recovery.idle_deaths:  # one that died of it must not die of it again
                self.branch.link.send({"t": "rehearse"})

    def make(self, purpose):
        self.purpose = purpose
        self.began = monotonic()
        self.branch.link.send({"t": "park", "run": self.branch.runs})

    def take_purpose(self):
        """What the copy was for that is made, or will never be."""
        purpose, self.purpose, self.unborn, self.is_stillborn = self.purpose, None, 0, False
        return purpose

    def on_copied(self, header):
        """The copy is there, and has yet to go out of everybody's reach: the next request waits for that, not this one."""
        pid = header.get("pid")
        if not self.is_busy or self.unborn or not claims.is_pid(pid):
            return
        self.unborn = pid
        self.is_stillborn = not is_there(pid)  # or nobody would tell of its end any more
        if self.purpose != AUTOMATIC:
            self.purpose.is_answered = True
            self.branch.tell(self.purpose.reply())

    def on_parked(self, header):
        pid, sweeper = header.get("pid"), self.branch.sweeper
        if not self.is_busy or not claims.is_pid(pid) or pid in sweeper.kept():
            return
        if not freeze_copy(pid):
            return
        purpose = self.take_purpose()
        copy = Copy(pid, self.branch.runs, self.branch.link)
        sweeper.new_processes.copied(pid, header.get("forks"))
        if purpose == AUTOMATIC:
            now = monotonic()
            self.copies.set_automatic(copy)
            self.dirty = self.has_gift = False
            self.cost = now - self.began
            self.due = now + min(LONGEST_WITHOUT_COPY, self.cost * BUSY_COST_FACTOR)
        else:
            if not purpose.is_answered:
                self.branch.tell(purpose.reply())
            self.copies.set_named(purpose.header["name"], copy)
            self.plan()
        self.branch.next()

    def on_unparked(self):
        purpose = self.take_purpose()
        if purpose == AUTOMATIC:
            self.dirty = self.has_gift = False  # no room for a copy: do not ask again before the next run
        elif purpose is not None and purpose.is_answered:
            self.gone(purpose.header["name"])
        elif purpose is not None:
            message = NO_ROOM if purpose.kind == "checkpoint" else ROLLED_BACK_ONCE
            self.branch.tell(purpose.reply(ok=False, code="too_large", message=message))
        self.branch.next()

    def on_worker_ended(self):
        """The worker died; whoever waits for a copy of it is told."""
        self.at = None
        purpose = self.take_purpose()
        if purpose in (None, AUTOMATIC):
            return
        if purpose.is_answered:
            self.gone(purpose.header["name"])
        else:
            message = "the interpreter ended while it was copied"
            self.branch.tell(purpose.reply(ok=False, code="cell_lost", message=message))

    def on_child_ended(self, pid):
        """A copy that ended without our doing: its own fork hooks, the memory killer or user code took it."""
        if pid == self.unborn:
            # Told at the end of this step: a sweep may be under way, which whatever waits for the copy must not begin in.
            self.is_stillborn = True
            return
        name = self.copies.died(pid)
        if name is None:
            return
        self.dirty = True
        if name:
            self.gone(name)

    def gone(self, name):
        """A checkpoint that its session counts on is not there any more; nor is an older one under its name."""
        self.copies.forget(name)
        self.branch.tell({"t": "gone", "name": name})
