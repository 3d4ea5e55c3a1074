"""Forks a branch: its worker forks, and the new process gets its own descriptors and becomes another branch."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic

from . import claims
from .link import WorkerLink
from .processes import is_own_session

FORK_SECONDS = 5.0
DIED = "the fork died before it was ready"


class Forking:
    def __init__(self, branch):
        self.branch = branch
        self.born = None  # the parent branch and its request, until the fork is ready
        self.in_call = {}  # requests by id for forks in the middle of a run, which waits in a call to the host

    def begin(self, request, new_branch):
        """`new_branch(number, link)` creates the branch that starts with this one's state."""
        branch = self.branch
        branch.begin(request)
        request.deadline = request.began + FORK_SECONDS
        self.conceive(request, new_branch, {})

    def begin_in_call(self, request, new_branch):
        """The run goes on. A thread of it waits for the host, and forks."""
        calls = self.branch.calls
        if calls is None or request.header["call"] not in calls.open:
            self.branch.tell(request.reply(ok=False, code="cell_lost", message="the call has ended"))
            return
        request.deadline = monotonic() + FORK_SECONDS
        self.in_call[request.id] = request
        self.conceive(request, new_branch, {"call": request.header["call"], "item": request.header.get("item", 0)})

    def conceive(self, request, new_branch, where):
        branch = self.branch
        link, theirs = WorkerLink.unborn(branch.link)
        try:
            branch.link.hand_over(theirs)
        except OSError:
            # user code has closed or filled the socket: that ends neither this session nor the others of the cell
            link.worker_side = theirs
            link.close_worker_side()
            link.close()
            self.settle(request)
            branch.tell(request.reply(ok=False, code="too_large", message="the worker takes no descriptors"))
            branch.next()
            return
        branch.link.send(dict({"t": "fork", "id": request.id, "token": link.token.hex()}, **where))
        child = new_branch(request.header["into"], link)
        child.forking.born = (branch, request)
        child.runs = branch.runs
        child.holds_values = branch.holds_values
        branch.supervisor.add(child)

    def awaits(self, request):
        return self.branch.active is request or self.in_call.get(request.id) is request

    def awaits_reply(self, request_id):
        return claims.is_whole(request_id) and request_id in self.in_call

    def settle(self, request):
        """The request has its reply: it no longer occupies the branch."""
        if self.in_call.pop(request.id, None) is None:
            self.branch.finish()

    def fail(self, request, message=DIED):
        """The fork failed or died. The worker it was forked from continues."""
        self.drop_unborn(request)
        self.settle(request)
        self.branch.tell(request.reply(ok=False, code="too_large", message=message))
        self.branch.next()

    def drop_unborn(self, request):
        supervisor = self.branch.supervisor
        for branch in list(supervisor.branches.values()):
            if branch.forking.born is not None and branch.forking.born[1] is request:
                supervisor.remove(branch)

    def on_answer(self, reply):
        """What the worker says about a fork in a call. The fork itself reports when it is ready."""
        request = self.in_call[reply["id"]]
        request.is_answered = True
        if not reply["ok"]:
            self.fail(request, reply["message"])

    def on_hangup(self):
        """All other ends are closed, so a fork that is not ready yet has died."""
        if self.born is not None:
            parent, request = self.born
            if parent.forking.awaits(request) and request.is_answered:
                parent.forking.fail(request)

    def on_forked(self, header):
        """The fork itself sends this."""
        parent, request = self.born
        branch, supervisor, pid = self.branch, self.branch.supervisor, header.get("pid")
        if not claims.is_pid(pid) or pid in branch.sweeper.kept() or not is_own_session(pid):
            return
        if not parent.forking.awaits(request):
            supervisor.remove(branch)  # no longer wanted
            return
        self.born = None
        branch.link.pid = pid
        branch.link.ready = True
        branch.copier.dirty = True
        branch.sweeper.new_processes.copied(pid, header.get("forks"))
        parent.forking.settle(request)
        parent.tell(request.reply())
        parent.next()
        branch.copier.plan()
        branch.next()

    # ---------------------------------------------------------------- forks in a call

    def next_due(self):
        return min(request.deadline for request in self.in_call.values())

    def on_time(self, now):
        for request in list(self.in_call.values()):
            if now >= request.deadline:
                self.fail(request)

    def on_worker_ended(self):
        for request in list(self.in_call.values()):
            self.fail(request, "the interpreter died before it could be forked")
