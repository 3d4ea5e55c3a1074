"""Values on their way between this process and a cell."""
from __future__ import annotations

import ast
import dataclasses
import enum
import json
from typing import Any, Optional, Union

MAX_LITERAL = 1 << 20
CONVERSIONS = (("model_dump", {"mode": "json"}), ("isoformat", {}), ("tolist", {}))


def to_json(value: Any) -> Any:
    """The value in terms of JSON. Raises TypeError if there is no sensible form.

    >>> to_json({"a": (1, {2}), 3: None})
    {'a': [1, [2]], '3': None}
    """
    if isinstance(value, enum.Enum):
        return to_json(value.value)
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return to_json({one.name: getattr(value, one.name) for one in dataclasses.fields(value)})
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return to_json(value._asdict())
    if isinstance(value, dict):
        return {one if isinstance(one, str) else str(one): to_json(item) for one, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, (set, frozenset)):
        return in_order([to_json(item) for item in value])
    for method, arguments in CONVERSIONS:
        convert = getattr(value, method, None)
        if callable(convert) and not isinstance(value, type):
            return to_json(convert(**arguments))
    raise TypeError("a value of type %s has no JSON form" % type(value).__name__)


def in_order(items: list) -> list:
    try:
        return sorted(items)
    except TypeError:
        return items


def tool_result(value: Any) -> Any:
    """What a tool returned, in terms of JSON; as text if it has no such form."""
    try:
        plain = to_json(value)
        json.dumps(plain, allow_nan=False)
        return plain
    except (TypeError, ValueError, RecursionError):
        return str(value)


def last_value(text: str, is_complete: bool = True) -> Union[str, list]:
    """The last expression's value from its repr: a list, or text.

    >>> last_value("[1, 'a']"), last_value("'a\\\\nb'"), last_value("<object at 0x1>"), last_value("0")
    ([1, 'a'], 'a\\nb', '<object at 0x1>', '0')
    """
    if is_complete and len(text) <= MAX_LITERAL and text[:1] in "[('\"":
        # The text comes from the cell. A literal cannot run anything here.
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return text
        if isinstance(value, (list, tuple)):
            return list(value)
        if isinstance(value, str):
            return value
    return text


def output_of(stdout: str, value: Optional[str], is_complete: bool = True) -> Union[None, str, list]:
    """What one execution shows: what it printed, then the value of its last expression.

    >>> output_of("a\\n", None), output_of("", "[1]"), output_of("a\\n", "[1]"), output_of("", None)
    ('a\\n', [1], 'a\\n[1]', None)
    """
    if value is None:
        return stdout or None
    shown = last_value(value, is_complete)
    return stdout + str(shown) if stdout else shown
