"""What happens while a run is running."""
from __future__ import annotations

import dataclasses
from typing import Any, Union

from ..errors import CodecellError, bad_response
from .decode import as_object, decode
from .run import RunResult, from_base64


@dataclasses.dataclass(frozen=True)
class Output:
    """The program printed something: `type` is "stdout" or "stderr"."""

    type: str
    offset: int
    text: str


@dataclasses.dataclass(frozen=True)
class Displayed:
    """One form of a value that the program displayed."""

    type: str
    offset: int
    display: int
    mime_type: str
    size: int
    data_base64: str = dataclasses.field(repr=False)

    @property
    def data(self) -> bytes:
        return from_base64(self.data_base64)


@dataclasses.dataclass(frozen=True)
class Ended:
    """The last event: the result."""

    type: str
    offset: int
    run: RunResult


RunEvent = Union[Output, Displayed, Ended]


def decode_event(name: str, data: Any) -> Union[RunEvent, None]:
    """The event, or None for one that this client does not know. Raises the error of a run that codecell could not finish."""
    if name in ("stdout", "stderr"):
        return decode(Output, data)
    if name == "display":
        return decode(Displayed, data)
    if name == "result":
        return decode(Ended, data)
    if name == "error":
        raise decode_error(data, 0)
    return None


def decode_error(data: Any, status: int) -> CodecellError:
    """The error that the service answered with."""
    error = as_object(as_object(data).get("error"))
    code, message, hint = error.get("code"), error.get("message"), error.get("hint")
    if not isinstance(code, str) or not isinstance(message, str):
        return bad_response("status %d without an error of codecell" % status, status)
    return CodecellError(code, message, hint=hint if isinstance(hint, str) else None, status=status)
