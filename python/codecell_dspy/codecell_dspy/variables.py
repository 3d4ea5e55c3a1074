"""Sets variables in a cell. A value never becomes code."""
from __future__ import annotations

import json
import keyword
from typing import Any, Dict, Mapping

from .protocol import CodeInterpreterError
from .service import Service, ServiceError, segment
from .values import to_json

# The service takes JSON bodies of up to 16 MiB. Escaped, a character takes up to 6 bytes.
MAX_TEXT = 2 << 20
# The same for all values: they come in on standard input, so that nothing between parses and changes them.
LOADER = "globals().update(__import__('json').load(__import__('sys').stdin))"


def set_variables(service: Service, path: str, variables: Mapping[str, Any]) -> None:
    """Short texts are set one by one. Everything else goes in one stream, of any size and with Python's own numbers."""
    streamed: Dict[str, Any] = {}
    for name, value in variables.items():
        if isinstance(value, str) and len(value) <= MAX_TEXT and is_unicode(value):
            service.call("PUT", "%s/variables/%s" % (path, segment(name)), {"value": str(value)})
        else:
            streamed[name] = value
    if streamed:
        load(service, path, json.dumps(streamed).encode())


def load(service: Service, path: str, data: bytes) -> None:
    started = service.call("POST", path + "/runs", {"code": LOADER, "stdin_stream": True, "when_busy": "wait"})
    run = "%s/runs/%s" % (path, segment(started["run_id"]))
    service.call("PUT", run + "/stdin", data)
    while started["status"] == "running":
        started = service.call("GET", run + "?wait=30", wait=30)
    if started["status"] != "ok":
        reason = (started["error"] or {}).get("message") or started["status"]
        raise ServiceError("the variables could not be set: %s" % reason, 422, "variables_refused")


def checked(variables: Mapping[str, Any]) -> Dict[str, Any]:
    """The variables in terms of JSON. Raises before anything is sent."""
    plain = {}
    for name, value in variables.items():
        is_name = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
        if not is_name or (name.startswith("__") and name.endswith("__")):
            raise CodeInterpreterError("%r is not a name for a variable: use a Python identifier" % (name,))
        try:
            plain[name] = to_json(value)
        except (TypeError, RecursionError) as error:
            raise CodeInterpreterError("the variable %s cannot be sent to the cell: %s" % (name, error)) from error
    return plain


def is_unicode(text: str) -> bool:
    """Whether it has no lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode()
        return True
    except UnicodeEncodeError:
        return False
