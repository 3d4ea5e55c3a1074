"""Answers the host's requests about files, in slices: the supervisor has other sessions and deadlines to look after.

A request does not wait for a run, as on the host's own directories: a program that hangs does not keep its files.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from time import monotonic

from ..shared.frames import BadFrame, head
from .listing import Listing
from .uploads import MAX_UPLOADS, Upload
from .workspace import Refused, Workspace, explained, facts_of, holes_of, is_settling

PIECE = 256 << 10
WINDOW = 4 << 20  # bytes of an upload that may be on their way
MAX_JOBS = 64
SLICE_SECONDS = 0.003
OUTLET_HIGH = 1 << 20


class Job:
    """A request that takes more than one slice."""

    def __init__(self, header, steps):
        self.header = header
        self.steps = steps
        self.deadline = monotonic() + header["timeoutMs"] / 1000


class Transfer:
    """Bytes of an upload that follow a request."""

    def __init__(self, header, upload):
        self.header = header
        self.upload = upload
        self.left = self.ungranted = header["size"]


class ServedFiles:
    def __init__(self, root, outlet, on_placed, has_room):
        """`root` is a descriptor of the workspace. `on_placed` gets the path and the stat of each file that the host sent.

        `has_room` says whether so many more entries fit, where the supervisor limits the disk itself: an upload that is too large must
        be refused before the cell is killed for it."""
        self.has_room = has_room
        self.workspace = Workspace(root)
        self.outlet = outlet
        self.on_placed = on_placed
        self.jobs = []
        self.uploads = {}  # by branch and number
        self.transfers = {}  # by branch and request

    # ---------------------------------------------------------------- requests

    def on_request(self, header):
        answer = ANSWERS.get(header["t"])
        if answer is None:
            self.refuse(header, Refused("file_refused", "this kernel does not know the request " + header["t"]))
            return
        self.attempt(header, lambda: answer(self, header))

    def attempt(self, header, act):
        """Every failure ends this request alone: the cell's memory, disk and descriptors are what the program left of them."""
        try:
            fields = act()
        except (BadFrame, ConnectionError):
            raise  # the host is gone
        except Refused as refusal:
            self.refuse(header, refusal)
        except OSError as error:
            self.refuse(header, explained(error, header.get("path", "the workspace")))
        except Exception as error:
            self.refuse(header, Refused("file_refused", "the cell failed: %s" % type(error).__name__))
        else:
            if fields is not None:
                self.tell(header, dict(fields, t="reply", ok=True))

    def refuse(self, header, refusal):
        if header["t"] == "file.write":
            self.drop(header)
        self.tell(header, {"t": "reply", "ok": False, "code": refusal.code, "message": refusal.message})

    def tell(self, header, fields, body=b""):
        message = dict(fields, id=header["id"])
        if header.get("branch"):
            message["branch"] = header["branch"]
        self.outlet.write(head(message, len(body)), body)

    # ---------------------------------------------------------------- reading and listing, in slices

    @property
    def can_work(self):
        return bool(self.jobs) and self.outlet.size < OUTLET_HIGH

    def work(self):
        """Moves the waiting requests on, one after the other, for a few milliseconds."""
        end = monotonic() + SLICE_SECONDS
        while self.can_work:
            job = self.jobs.pop(0)
            self.attempt(job.header, lambda: self.step(job))
            if monotonic() >= end:
                break

    def step(self, job):
        """One step of a request, which then waits for its next turn. The answer, if that was the last one."""
        try:
            next(job.steps)
        except StopIteration as end:
            return end.value
        if monotonic() > job.deadline:
            job.steps.close()
            raise Refused("timeout", "the request timed out")
        self.jobs.append(job)
        return None

    def begin(self, header, steps):
        if len(self.jobs) >= MAX_JOBS:
            raise Refused("too_large", "more than %d requests are waiting" % MAX_JOBS)
        self.jobs.append(Job(header, steps))

    def read(self, header):
        self.begin(header, self.read_steps(header))

    def read_steps(self, header):
        file = self.workspace.open_file(header["path"])
        try:
            at, end = header["start"], min(header["end"], posix.fstat(file).st_size)
            while at < end:
                data = posix.pread(file, min(PIECE, end - at), at)
                if not data:
                    break
                at += len(data)
                self.tell(header, {"t": "data"}, data)
                yield
            stat = posix.fstat(file)  # after the last byte: a change in between shows in the version
            return {"file": dict(facts_of(stat), holes=holes_of(stat), settling=is_settling(stat))}
        finally:
            posix.close(file)

    def list(self, header):
        self.begin(header, self.list_steps(header))

    def list_steps(self, header):
        listing = Listing(self.workspace, header["prefix"], header["after"], header["limit"])
        yield from listing.walk()
        for piece in listing.pieces():
            self.tell(header, {"t": "data"}, piece)
            yield
        return {}

    # ---------------------------------------------------------------- uploads

    def want_room(self, entries=0):
        if not self.has_room(entries):
            raise Refused("too_large", "the disk of the cell is full")

    def write(self, header):
        key = (header.get("branch", 0), header["upload"])
        if key not in self.uploads:
            self.want_room(1)
            if len(self.uploads) >= MAX_UPLOADS:
                raise Refused("too_large", "more than %d uploads are under way" % MAX_UPLOADS)
            self.uploads[key] = Upload(self.workspace)
        if not header["size"]:
            return {}
        transfer = Transfer(header, self.uploads[key])
        self.transfers[key[0], header["id"]] = transfer
        self.grant(transfer)
        return None

    def grant(self, transfer):
        room = min(transfer.ungranted, WINDOW - (transfer.left - transfer.ungranted))
        if room >= min(WINDOW // 4, transfer.ungranted) and room > 0:
            transfer.ungranted -= room
            self.tell(transfer.header, {"t": "credit", "bytes": room})

    def takes_data(self, branch, request):
        return (branch, request) in self.transfers

    def take_data(self, branch, request, data):
        """Bytes of an upload. Those that follow a failure are dropped."""
        transfer = self.transfers.get((branch, request))
        if transfer is not None and data:
            self.attempt(transfer.header, lambda: self.take(transfer, data[: transfer.left]))

    def take(self, transfer, data):
        size = len(data)
        transfer.upload.write(data)
        self.want_room()
        transfer.left -= size
        if transfer.left:
            self.grant(transfer)
            return None
        del self.transfers[transfer.header.get("branch", 0), transfer.header["id"]]
        return {}

    def place(self, header):
        self.begin(header, self.place_steps(header))

    def place_steps(self, header):
        upload = self.uploads.pop((header.get("branch", 0), header["upload"]), None)
        if upload is None:
            raise Refused("file_missing", "there is no such upload")
        try:
            self.on_placed(header["path"], (yield from upload.place(header["path"], self.want_room)))
        except BaseException:
            upload.drop()
            raise
        upload.draft.close()
        return {}

    def drop(self, header):
        upload = self.uploads.pop((header.get("branch", 0), header["upload"]), None)
        if upload is not None:
            upload.drop()
            self.transfers = {key: one for key, one in self.transfers.items() if one.upload is not upload}
        return {}

    def remove(self, header):
        self.workspace.remove(header["path"])
        return {}

    def leave(self, branch):
        """The session of a branch was closed: nobody waits for its requests."""
        for job in [one for one in self.jobs if one.header.get("branch", 0) == branch]:
            self.jobs.remove(job)
            job.steps.close()
        for key in [key for key in self.uploads if key[0] == branch]:
            self.drop({"branch": branch, "upload": key[1]})


ANSWERS = {
    "file.read": ServedFiles.read,
    "file.write": ServedFiles.write,
    "file.place": ServedFiles.place,
    "file.drop": ServedFiles.drop,
    "file.remove": ServedFiles.remove,
    "file.list": ServedFiles.list,
}
