"""Makes the frozen copies of one interpreter: in idle time after a run, and for each checkpoint."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic

from . import claims
from .copies import Copies, Copy
from .processes import freeze_copy, is_there

PARK_SECONDS = 5.0
IDLE_BEFORE_PARK = 0.025  # shorter, and steady runs would meet a copy each time
IDLE_COST_FACTOR, LONGEST_IDLE = 2, 0.1  # an expensive copy waits for a longer pause
BUSY_COST_FACTOR, LONGEST_WITHOUT_COPY = 200, 1.0  # without pauses, a copy is made between runs now and then
NEVER = float("inf")
AUTOMATIC = "automatic"
ROLLED_BACK_ONCE = "the variables were rolled back, but there was no room to keep the checkpoint for another rollback"
NO_ROOM = "no room for a copy: the cell has reached its process or memory limit"


class Copier:
    def __init__(self, branch):
        self.branch = branch
        self.copies = Copies(branch.sweeper.end_child)
        self.purpose = None  # why a copy is being made: AUTOMATIC, or a request
        self.unborn = 0  # pid of a copy that exists but has not reported yet
        self.died_early = False  # it died before it reported
        self.at = None  # when the next automatic one is made
        self.began = self.due = self.cost = 0.0
        self.dirty = False  # a run has ended since the last automatic copy
        self.has_new_values = False  # the host has set values since then, which no code can recreate

    @property
    def is_busy(self):
        return self.purpose is not None

    def next_due(self):
        if self.died_early:
            return 0.0
        due = NEVER if self.at is None else self.at
        return due if self.purpose is None else min(due, self.began + PARK_SECONDS)

    def on_time(self, now):
        if self.died_early:
            self.on_unparked()
        if self.at is not None and now >= self.at:
            self.park(idle=True)
        if self.is_busy and now >= self.began + PARK_SECONDS:
            # Fork hooks or threads of user code block the worker: do not wait forever.
            self.branch.recovery.end_idle("a copy of its state could not be made within %d s" % PARK_SECONDS)

    def plan(self):
        """Schedules a copy in idle time, so that the next run does not wait for it."""
        if self.branch.config["recovery"] and self.dirty:
            self.at = monotonic() + max(IDLE_BEFORE_PARK, min(LONGEST_IDLE, self.cost * IDLE_COST_FACTOR))

    def is_due_before(self, is_run):
        """Whether a copy has to be made before the next request, even without a pause."""
        if not self.branch.config["recovery"] or not self.dirty:
            return False
        if self.copies.automatic is None or monotonic() > self.due:
            return True
        return self.has_new_values and is_run

    def park(self, idle=False):
        self.at = None
        if self.branch.active is None and self.branch.link.ready and not self.is_busy and self.dirty:
            self.make(AUTOMATIC)
            if idle and not self.branch.recovery.idle_deaths:  # a rehearsal may have killed the last worker
                self.branch.link.send({"t": "rehearse"})

    def make(self, purpose):
        self.purpose = purpose
        self.began = monotonic()
        self.branch.link.send({"t": "park", "run": self.branch.runs})

    def take_purpose(self):
        """Ends the making of a copy, and returns what it was for."""
        purpose, self.purpose, self.unborn, self.died_early = self.purpose, None, 0, False
        return purpose

    def on_copied(self, header):
        """The copy exists but is not frozen yet. This request is answered now; the next one waits until it is frozen."""
        pid = header.get("pid")
        if not self.is_busy or self.unborn or not claims.is_pid(pid):
            return
        self.unborn = pid
        self.died_early = not is_there(pid)  # it may already have been reaped: then nothing else reports its death
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
            self.dirty = self.has_new_values = False
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
            self.dirty = self.has_new_values = False  # no room for a copy: do not try again before the next run
        elif purpose is not None and purpose.is_answered:
            self.gone(purpose.header["name"])
        elif purpose is not None:
            message = NO_ROOM if purpose.kind == "checkpoint" else ROLLED_BACK_ONCE
            self.branch.tell(purpose.reply(ok=False, code="too_large", message=message))
        self.branch.next()

    def on_worker_ended(self):
        """The worker died: answers the request that waits for a copy of it."""
        self.at = None
        purpose = self.take_purpose()
        if purpose in (None, AUTOMATIC):
            return
        if purpose.is_answered:
            self.gone(purpose.header["name"])
        else:
            message = "the interpreter died while it was being copied"
            self.branch.tell(purpose.reply(ok=False, code="cell_lost", message=message))

    def on_child_ended(self, pid):
        """A copy died, and the supervisor did not kill it: its fork hooks, the OOM killer or user code did."""
        if pid == self.unborn:
            # Reported at the end of this step: requests that wait for the copy must not start in the middle of a sweep.
            self.died_early = True
            return
        name = self.copies.died(pid)
        if name is None:
            return
        self.dirty = True
        if name:
            self.gone(name)

    def gone(self, name):
        """Tells the session that a checkpoint is lost. An older one with the same name is dropped too."""
        self.copies.forget(name)
        self.branch.tell({"t": "gone", "name": name})
