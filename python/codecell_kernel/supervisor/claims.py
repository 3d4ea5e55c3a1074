"""Validates what a worker says and rebuilds it.

User code shares the worker's memory and can forge all its messages. Only fields of the protocol, with the right type and
within bounds, reach the host. A forged message can lie about its own session, but it cannot break anything.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001

ENDINGS = ("ok", "error", "interrupted")  # only the supervisor may report any other status
CODES = ("variable_missing", "variable_unserializable", "expression_failed", "too_large")
LARGEST = (1 << 53) - 1
MAX_PID = 1 << 22
MIME_CHARACTERS = 100


def is_whole(value, most=LARGEST):
    return type(value) is int and 0 <= value <= most


def is_pid(value):
    """Not 0: a signal to 0 goes to the supervisor's own process group, and could stop the supervisor itself."""
    return is_whole(value, MAX_PID) and value > 0


def ending(header):
    """The fields of `done` that the worker may set."""
    status = header.get("status")
    said = {"status": status if status in ENDINGS else "error"}
    if is_whole(header.get("exitCode"), 255):
        said["exitCode"] = header["exitCode"]
    if type(header.get("result")) is str:
        said["result"] = header["result"]
    if header.get("resultTruncated") is True:
        said["resultTruncated"] = True
    if is_whole(header.get("line")):
        said["line"] = header["line"]
    if is_whole(header.get("cpuUs")):
        said["cpuUs"] = header["cpuUs"]
    if is_whole(header.get("peakBytes")):
        said["peakBytes"] = header["peakBytes"]
    error = header.get("error")
    if type(error) is dict and all(type(error.get(field)) is str for field in ("name", "message", "traceback")):
        said["error"] = {"name": error["name"], "message": error["message"], "traceback": error["traceback"]}
    return said


def display(run_id, header):
    """One piece of a display, or None."""
    mime = header.get("mime")
    if not is_whole(header.get("display")) or type(mime) is not str or type(header.get("more")) is not bool:
        return None
    return {
        "t": "display",
        "id": run_id,
        "display": header["display"],
        "mime": mime[:MIME_CHARACTERS],
        "more": header["more"],
    }


def reply(request_id, header):
    said = {"t": "reply", "id": request_id, "ok": header.get("ok") is True}
    if not said["ok"]:
        code, message = header.get("code"), header.get("message")
        said["code"] = code if code in CODES else "expression_failed"
        said["message"] = message[:4000] if type(message) is str else "the interpreter gave no reason"
    return said
