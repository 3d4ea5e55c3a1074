"""Replaces a dead worker with the automatic copy, or with a fresh interpreter."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

from .processes import signal_quietly

RESUME_SECONDS = 5.0
MAX_IDLE_DEATHS = 3
NOT_BACK = "threads, child processes, sockets and file positions were not restored"


class Recovery:
    def __init__(self, branch):
        self.branch = branch
        self.idle_reason = None  # why the worker was killed between two runs
        self.idle_deaths = 0  # how often the worker died since the last run ended

    def end_idle(self, why):
        """Kills a worker between two runs. A run that arrives before it is dead waits for the next worker."""
        self.idle_reason = why
        self.branch.link.is_killed = True
        signal_quietly(self.branch.link.pid, 9)

    def recover(self):
        branch = self.branch
        status, active = branch.link.dead, branch.active
        branch.copier.on_worker_ended()
        branch.forking.on_worker_ended()
        if branch.calls is not None:
            branch.calls.forget()
        if active is not None and active.is_run:
            branch.drain_output()
            branch.send_tail()
        elif active is None:
            self.idle_deaths += 1
            if self.idle_deaths > MAX_IDLE_DEATHS:
                branch.copies.set_automatic(None)  # every worker that continues from its state dies
        was_ready = branch.link.ready
        branch.sweeper.sweep(but=branch)
        copy = branch.copies.take_automatic()
        if copy is not None and copy.link.resume(copy.pid, RESUME_SECONDS):
            state, back_to = "recovered", copy.run
            branch.link = copy.link
            branch.runs = copy.run  # the next copy is of this state, not of a later one
        else:
            if copy is not None:
                signal_quietly(copy.pid, 9)
            state, back_to = ("lost", None) if branch.holds_values else ("recovered", 0)
            if not was_ready and (posix.WIFEXITED(status) or self.idle_deaths > MAX_IDLE_DEATHS):
                branch.cannot_start()
                return
            branch.replace_worker()
            branch.runs = 0
            branch.holds_values = False
        branch.copier.dirty = copy is not None and state == "recovered"  # in use now: copy again before the next run
        if active is not None and active.kind == "fork":
            branch.forking.drop_unborn(active)
        self.report(active, status, state, back_to)
        branch.finish()
        branch.copier.plan()
        branch.next()

    def report(self, active, status, state, back_to):
        branch = self.branch
        notes = [cause(status), *self.what_is_left(state)]
        extra = {} if back_to is None else {"recoveredTo": back_to}
        if active is None:
            branch.tell(dict({"t": "lost", "state": state, "notes": notes}, **extra))
        elif active.is_run:
            done = dict(active.done(active.ending or "crashed", state, notes), **extra)
            if posix.WIFSIGNALED(status):
                done["signal"] = posix.WTERMSIG(status)
            elif active.ending is None:
                done["exitCode"] = posix.WEXITSTATUS(status)
            branch.add_changes(done)
            branch.tell(done)
        else:
            code = "timeout" if active.ending == "timeout" else "cell_lost"
            branch.tell(active.reply(ok=False, code=code, message="; ".join(notes), state=state, **extra))

    def what_is_left(self, state):
        if self.idle_reason is not None:
            yield self.idle_reason
            self.idle_reason = None
        if state == "recovered" and self.branch.holds_values:
            yield NOT_BACK  # the host names the run, by the session's number
        elif state == "lost":
            yield "there was no copy of the state: the interpreter is fresh"


def cause(status):
    if posix.WIFSIGNALED(status):
        return "the interpreter was killed by signal %d" % posix.WTERMSIG(status)
    return "the interpreter exited with code %d" % posix.WEXITSTATUS(status)
