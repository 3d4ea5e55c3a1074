"""Which processes of the cell stay, and which go with the run that started them."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from time import monotonic

from .processes import NewProcesses, kill_all_but, pids, session_of, signal_quietly

PID_WRAP_SECONDS = 0.2


class Sweeper:
    def __init__(self, branches):
        self.branches = branches
        self.own = {1, posix.getpid()}
        self.lets_live = False  # processes that outlive their run, as the policy says
        self.new_processes = NewProcesses()
        self.dying = set()  # copies and workers that were killed and are not reaped yet: nothing that a run left behind
        self.spared = 0  # a copy on its way to become a worker

    def kept(self, workers=True, but=None):
        kept = self.own | self.dying
        if self.spared:
            kept.add(self.spared)
        for branch in self.branches.values():
            kept.update(branch.copies.pids())
            if workers and branch is not but and branch.link.pid:
                kept.add(branch.link.pid)
        return kept

    def end_child(self, pid):
        self.dying.add(pid)
        signal_quietly(pid, 9)

    def spare(self, pid):
        self.spared = pid

    def sweep_after(self, branch, run):
        """Ends what a run left behind, when the policy says so; returns how many processes that were."""
        # A run that had time to use every number of the pid namespace can make the latest one look unchanged.
        may_have_wrapped = monotonic() - run.began > PID_WRAP_SECONDS
        if self.lets_live or not (self.new_processes.any() or may_have_wrapped):
            return 0
        ended = self.sweep(finishing=branch)
        branch.zombies = [pid for pid in pids() if pid not in self.kept()][:8192] if ended else ()
        return ended

    def sweep(self, but=None, finishing=None):
        """Ends every process but supervisor, copies and workers; `but` is a branch whose worker goes too.

        While another branch runs or is being copied, or where processes may live on, only what belongs to this branch's
        session goes: the rest may be another's own. What is left of a run goes with the next sweep.
        """
        branch = but or finishing
        others = [one for one in self.branches.values() if one is not branch]
        is_shared = others and (self.lets_live or any(one.has_processes for one in others))
        kept = self.kept(but=but)
        held = [one.link.pid for one in self.branches.values() if one is not but and one.link.pid]
        if is_shared:
            kept = Spared(kept, lambda session: session != branch.link.pid)
            held = [branch.link.pid] if branch is finishing else []
        elif others:
            workers = [one.link.pid for one in others]  # theirs may just be on its way out of a copy
            kept = Spared(kept, lambda session: session in workers)
        # Noted before each look: what starts after the last one has a higher number, and goes with the next sweep.
        ended = kill_all_but(kept, self.reap, held, before_look=self.new_processes.any)
        if is_shared:
            self.new_processes.forget()
        self.spared = 0
        return ended

    def end_strangers(self):
        """Ends everything that is neither a worker nor a copy, whosever it is."""
        kill_all_but(self.kept(), self.reap)

    def reap(self):
        while True:
            try:
                pid, status = posix.waitpid(-1, posix.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.dying.discard(pid)
            for branch in self.branches.values():
                if pid == branch.link.pid:
                    branch.link.dead = status
                else:
                    branch.copier.on_child_ended(pid)


class Spared:
    """Processes that stay: those that are kept anyway, and those in a session that is somebody else's."""

    def __init__(self, kept, is_foreign):
        self.kept = kept
        self.is_foreign = is_foreign

    def __contains__(self, pid):
        return pid in self.kept or self.is_foreign(session_of(pid))
