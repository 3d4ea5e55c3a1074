"""The result of a run as DSPy's protocol has it: an output, or an exception."""
from __future__ import annotations

from typing import Any, Dict, Optional

from .protocol import CodeExecutionError, CodeInterpreterError, FinalOutput
from .values import output_of

SYNTAX = ("SyntaxError", "IndentationError", "TabError")
MAX_SHOWN = 20_000
ENDINGS = {
    "timeout": "TimeoutError: the program timed out",
    "interrupted": "KeyboardInterrupt: the program was interrupted",
    "cancelled": "KeyboardInterrupt: the program was cancelled",
    "out_of_memory": "MemoryError: the program reached its memory limit",
    "output_limit": "RuntimeError: the program printed more than its output limit",
    "crashed": "RuntimeError: the interpreter crashed",
}


def outcome(run: Dict[str, Any], submitted: Optional[Dict[str, Any]]) -> Any:
    """The output of a run that succeeded. Raises what the protocol has for one that failed."""
    if run["state"] == "lost":
        text = ["The interpreter died and its variables are lost. Create a new interpreter.", failure_text(run)]
        raise CodeInterpreterError("\n".join(text))
    if run["status"] == "ok":
        if submitted is not None:
            return FinalOutput(submitted)
        return output_of(run["stdout"], run["value"], not run["truncated"])
    error = run["error"] or {}
    if run["status"] == "error" and error.get("type") in SYNTAX:
        raise SyntaxError("Invalid Python syntax. %s" % failure_text(run))
    raise CodeExecutionError(failure_text(run))


def failure_text(run: Dict[str, Any]) -> str:
    """What a model needs to repair its program: the error, where it was raised, and what was printed before."""
    error = run["error"]
    if run["status"] in ENDINGS:
        parts = [ENDINGS[run["status"]]]
    else:
        parts = ["%s: %s" % (str(error["type"]).replace("codecell_host.", "", 1), error["message"])]
    if error and error["traceback"]:
        parts.append(shortened(error["traceback"].rstrip()))
    if run["state"] == "recovered":
        parts.append("The interpreter was restarted with the variables that it had before.")
    parts.extend(run["notes"])
    if run["stdout"]:
        parts.append("Printed before that:\n%s" % shortened(run["stdout"]))
    return "\n".join(parts)


def shortened(text: str) -> str:
    """The beginning and the end of a long text."""
    if len(text) <= MAX_SHOWN:
        return text
    half = MAX_SHOWN // 2
    return "%s\n[%d characters left out]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])
