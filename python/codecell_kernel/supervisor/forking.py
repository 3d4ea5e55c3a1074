"""Forks a branch: its worker forks, and the new process gets its own descriptors and becomes another branch."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from . import claims
from .link import WorkerLink
from .processes import is_own_session

FORK_SECONDS = 5.0


class Forking:
    def __init__(self, branch):
        self.branch = branch
        self.born = None  # the parent branch and its request, until the fork is ready

    def begin(self, request, new_branch):
        """`new_branch(number, link)` creates the branch that starts with this one's state."""
        branch = self.branch
        link, theirs = WorkerLink.unborn(branch.link)
        branch.begin(request)
        request.deadline = request.began + FORK_SECONDS
        branch.link.hand_over(theirs)
        branch.link.send({"t": "fork", "id": request.id, "token": link.token.hex()})
        child = new_branch(request.header["into"], link)
        child.forking.born = (branch, request)
        child.runs = branch.runs
        child.holds_values = branch.holds_values
        branch.supervisor.add(child)

    def fail(self, request):
        """The fork failed or died. The worker it was forked from continues."""
        self.drop_unborn(request)
        self.branch.finish()
        self.branch.tell(request.reply(ok=False, code="too_large", message="the fork died before it was ready"))
        self.branch.next()

    def drop_unborn(self, request):
        supervisor = self.branch.supervisor
        for branch in list(supervisor.branches.values()):
            if branch.forking.born is not None and branch.forking.born[1] is request:
                supervisor.remove(branch)

    def on_hangup(self):
        """All other ends are closed, so a fork that is not ready yet has died."""
        if self.born is not None:
            parent, request = self.born
            if parent.active is request and request.is_answered:
                parent.forking.fail(request)

    def on_forked(self, header):
        """The fork itself sends this."""
        parent, request = self.born
        branch, supervisor, pid = self.branch, self.branch.supervisor, header.get("pid")
        if not claims.is_pid(pid) or pid in branch.sweeper.kept() or not is_own_session(pid):
            return
        if parent.active is not request:
            supervisor.remove(branch)  # no longer wanted
            return
        self.born = None
        branch.link.pid = pid
        branch.link.ready = True
        branch.copier.dirty = True
        branch.sweeper.new_processes.copied(pid, header.get("forks"))
        parent.finish()
        parent.tell(request.reply())
        parent.next()
        branch.copier.plan()
        branch.next()
