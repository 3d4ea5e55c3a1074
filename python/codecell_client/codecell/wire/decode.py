"""Builds dataclasses from JSON and checks every field. Unknown fields are ignored, so that a newer service can add some."""
from __future__ import annotations

import dataclasses
import functools
import json
import typing
from typing import Any, Dict, List, Type, TypeVar, Union

from ..errors import bad_response

T = TypeVar("T")
MAX_DIGITS = 4300


def decode(kind: Type[T], data: Any) -> T:
    """The object of a dataclass.

    >>> @dataclasses.dataclass(frozen=True)
    ... class Point:
    ...     x: int
    ...     label: typing.Optional[str] = None
    >>> decode(Point, {"x": 1, "unknown": 2})
    Point(x=1, label=None)
    >>> decode(Point, {"x": "1"})
    Traceback (most recent call last):
    codecell.errors.CodecellError: the service sent an invalid response: Point.x is not of type int (check that the URL is that of a codecell service)
    """
    return typing.cast(T, _convert(kind, data, kind.__name__))


def parse_json(data: bytes, status: int = 0) -> Any:
    """JSON of the service. Its texts come from cells, so it may be as hostile as JSON can be."""
    try:
        return json.loads(data.decode("utf-8"), parse_int=_integer, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise bad_response("it is not JSON", status) from None


def as_object(data: Any) -> Dict[str, Any]:
    """The object, or an empty one for anything else."""
    return typing.cast("Dict[str, Any]", data) if isinstance(data, dict) else {}


def as_list(data: Any, what: str) -> List[Any]:
    if not isinstance(data, list):
        raise bad_response("it has no %s" % what)
    return typing.cast("List[Any]", data)


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:  # converting takes quadratic time before Python 3.11
        raise ValueError("the number has too many digits")
    return int(digits)


def _no_constant(name: str) -> float:
    raise ValueError("%s is not JSON" % name)


@functools.lru_cache(maxsize=None)
def _fields(kind: type) -> Dict[str, Any]:
    return typing.get_type_hints(kind)


def _convert(kind: Any, data: Any, where: str) -> Any:
    if kind is Any:
        return data
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Union:  # only Optional is used
        return None if data is None else _convert(arguments[0], data, where)
    if origin is tuple:
        if not isinstance(data, list):
            raise bad_response("%s is not a list" % where)
        return tuple(_convert(arguments[0], item, where) for item in as_list(data, where))
    if origin is dict:
        if not isinstance(data, dict):
            raise bad_response("%s is not an object" % where)
        return as_object(data)
    if dataclasses.is_dataclass(kind):
        return _build(typing.cast(type, kind), data, where)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return _as_float(data, where)
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        raise bad_response("%s is not of type %s" % (where, kind.__name__))
    return data


def _as_float(data: int, where: str) -> float:
    try:
        return float(data)
    except OverflowError:
        raise bad_response("%s is too large" % where) from None


def _build(kind: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise bad_response("%s is not an object" % where)
    values: Dict[str, Any] = {}
    for name, hint in _fields(kind).items():
        key = name.rstrip("_")  # `from_` is `from`, which Python does not allow
        if key in data:
            values[name] = _convert(hint, data[key], "%s.%s" % (kind.__name__, key))
    try:
        return kind(**values)
    except TypeError:
        missing = sorted(one.name for one in dataclasses.fields(kind) if one.name not in values and _is_required(one))
        raise bad_response("%s has no %s" % (where, ", ".join(missing))) from None


def _is_required(field: "dataclasses.Field[Any]") -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
