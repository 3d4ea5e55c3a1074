"""Stops a worker's current request: an interrupt, a second one if the first was not noticed, then the kill."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic

import _signal

from .processes import signal_quietly

INTERRUPT_GRACE = 1.0  # gVisor needs more than half of it under load, and a kill loses the run's state
UNNOTICED_SECONDS = INTERRUPT_GRACE / 2  # user code with its own signal handler has this long to react
LAST_CALL_SECONDS = INTERRUPT_GRACE / 4
NEVER = float("inf")


class Stopper:
    def __init__(self, branch):
        self.branch = branch

    def next_due(self):
        """Of the current request."""
        active = self.branch.active
        if active.deadline is None:
            return NEVER
        return active.deadline if active.interrupt_at is None else min(active.deadline, active.interrupt_at)

    def on_time(self, now):
        active = self.branch.active
        if active is None:
            return
        if active.deadline is not None and now >= active.deadline:
            if active.is_answered:
                self.branch.forking.fail(active)
            else:
                self.stop("timeout", kill=active.ending is not None)
        elif active.interrupt_at is not None and now >= active.interrupt_at:
            signal_quietly(self.branch.link.pid, _signal.SIGINT)
            active.interrupt_at = None

    def stop(self, why, kill):
        """The first reason wins."""
        active, link = self.branch.active, self.branch.link
        active.ending = active.ending or why
        if kill:
            link.is_killed = True
            signal_quietly(link.pid, 9)
        elif not link.is_calming:
            self.interrupt()
        active.deadline = None if kill else monotonic() + INTERRUPT_GRACE

    def interrupt(self):
        """A signal just before a blocking call is noticed only when the call returns, so it is sent twice."""
        active = self.branch.active
        if active.input is not None:
            active.input.pause()
        signal_quietly(self.branch.link.pid, _signal.SIGINT)
        active.interrupt_at = monotonic() + UNNOTICED_SECONDS

    def on_noticed(self):
        """The worker raised KeyboardInterrupt. A finalizer or C callback may swallow it: retry once before the kill."""
        active = self.branch.active
        if active is None:
            return
        active.interrupt_at = None
        if active.input is not None:
            active.input.resume()
        if active.ending and active.deadline is not None and not active.had_last_call:
            active.had_last_call = True
            active.interrupt_at = active.deadline - LAST_CALL_SECONDS

    def on_calmed(self):
        """The worker has discarded the late interrupt, so a new one cannot be discarded with it."""
        self.branch.link.is_calming = False
        if self.branch.active is not None and self.branch.active.ending:
            self.interrupt()
