"""Decides which processes stay and which are killed after the run that started them."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from time import monotonic

from .processes import NewProcesses, kill_all_but, pids, session_of, signal_quietly

PID_WRAP_SECONDS = 0.2


class Sweeper:
    def __init__(self, branches):
        self.branches = branches
        self.own = {1, posix.getpid()}
        self.allows_background = False  # the policy lets processes outlive their run
        self.new_processes = NewProcesses()
        self.dying = set()  # killed copies and workers that are not reaped yet: not leftovers of a run
        self.spared = 0  # a copy that is about to become a worker

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
        """Kills what a run left behind, if the policy says so. Returns how many processes that were."""
        # A run long enough to use every pid of the namespace can make the latest pid look unchanged.
        may_have_wrapped = monotonic() - run.began > PID_WRAP_SECONDS
        if self.allows_background or not (self.new_processes.any() or may_have_wrapped):
            return 0
        ended = self.sweep(finishing=branch)
        branch.zombies = [pid for pid in pids() if pid not in self.kept()][:8192] if ended else ()
        return ended

    def sweep(self, but=None, finishing=None):
        """Kills all processes except the supervisor, copies and workers. `but` is a branch whose worker is killed too.

        While another branch runs or is being copied, or if processes may outlive their run, only processes in this
        branch's session are killed: others may belong to another branch. The next sweep kills the rest.
        """
        branch = but or finishing
        others = [one for one in self.branches.values() if one is not branch]
        is_shared = others and (self.allows_background or any(one.has_processes for one in others))
        kept = self.kept(but=but)
        held = [one.link.pid for one in self.branches.values() if one is not but and one.link.pid]
        if is_shared:
            kept = Spared(kept, lambda session: session != branch.link.pid)
            held = [branch.link.pid] if branch is finishing else []
        elif others:
            workers = [one.link.pid for one in others]  # one of them may just be making a copy
            kept = Spared(kept, lambda session: session in workers)
        # Recorded before each check: a process that starts after the last one has a higher pid, and the next sweep kills it.
        ended = kill_all_but(kept, self.reap, held, before_look=self.new_processes.any)
        if is_shared:
            self.new_processes.forget()
        self.spared = 0
        return ended

    def kill_leftovers(self):
        """Kills everything that is neither a worker nor a copy, in all branches."""
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
    """Processes that stay: those in `kept`, and those whose session belongs to another branch."""

    def __init__(self, kept, is_foreign):
        self.kept = kept
        self.is_foreign = is_foreign

    def __contains__(self, pid):
        return pid in self.kept or self.is_foreign(session_of(pid))
