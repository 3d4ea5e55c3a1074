"""A Python function as the service declares it: a JSON Schema of its parameters, and a call with JSON arguments."""
from __future__ import annotations

import collections.abc
import inspect
import types
import typing
from typing import Any, Callable, Dict, List, Mapping, Tuple

MAX_DESCRIPTION = 20_000
SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
Tool = Callable[..., Any]
KEYWORDS = (inspect.Parameter.VAR_KEYWORD,)


def declaration(name: str, tool: Tool, timeout: float) -> Dict[str, Any]:
    """The tool for `PUT …/functions`.

    >>> def find(text: str, limit: int = 5): "Finds text."
    >>> declaration("find", find, 60)["input"]["properties"]["limit"]
    {'type': 'integer'}
    """
    properties: Dict[str, Any] = {}
    required: List[str] = []
    parameters, hints = signature_of(tool)
    takes_any = any(one.kind in KEYWORDS for one in parameters)
    for one in parameters:
        if one.kind in KEYWORDS or (one.kind is inspect.Parameter.VAR_POSITIONAL and takes_any):
            continue
        if one.kind is inspect.Parameter.VAR_POSITIONAL:
            properties[one.name] = {"type": "array"}
            continue
        properties[one.name] = schema_of(hints.get(one.name, Any))
        if one.default is inspect.Parameter.empty:
            required.append(one.name)
    schema: Dict[str, Any] = {"type": "object", "properties": properties, "required": required}
    if takes_any:
        schema["additionalProperties"] = True
    return {"name": name, "description": described(name, tool), "input": schema, "timeout": timeout}


def submit_declaration(fields: List[Mapping[str, Any]]) -> Dict[str, Any]:
    """SUBMIT with the output fields as parameters. It takes any values: DSPy parses them, and tells the model what is wrong."""
    names = [field["name"] for field in fields]
    shown = ", ".join("%s: %s" % (one["name"], one["type"]) if one.get("type") else one["name"] for one in fields)
    schema = {"type": "object", "properties": {name: {} for name in names}, "required": names}
    text = "SUBMIT(%s): submits the final outputs and ends this program." % shown
    return {"name": "SUBMIT", "description": text, "input": schema, "kind": "submit"}


def call_tool(tool: Tool, given: Mapping[str, Any]) -> Any:
    """Calls the tool by keywords, as DSPy does, except where Python itself needs positions.

    >>> call_tool(lambda a, *rest: (a, rest), {"a": 1, "rest": [2, 3]})
    (1, (2, 3))
    """
    parameters, _ = signature_of(tool)
    left = dict(given)
    takes_any = any(one.kind in KEYWORDS for one in parameters)
    rest = next((one for one in parameters if one.kind is inspect.Parameter.VAR_POSITIONAL and not takes_any), None)
    spread = left.pop(rest.name, []) if rest else []
    positions = []
    for one in parameters:
        by_position = one.kind is inspect.Parameter.POSITIONAL_ONLY
        if spread and one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            by_position = True  # what follows `*` fills the parameters before it
        if by_position and one.name in left:
            positions.append(left.pop(one.name))
    return tool(*positions, *spread, **left)


def signature_of(tool: Tool) -> Tuple[List[inspect.Parameter], Dict[str, Any]]:
    """The parameters and their type hints. A tool without a signature takes any keyword."""
    # A dspy.Tool takes **kwargs itself; its function has the signature.
    described_by = getattr(tool, "func", tool) if isinstance(getattr(tool, "args", None), dict) else tool
    try:
        signature = inspect.signature(described_by)
    except (TypeError, ValueError):
        return [inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)], {}
    hints = {name: one.annotation for name, one in signature.parameters.items()}
    try:
        hints.update(typing.get_type_hints(described_by))
    except Exception:  # noqa: BLE001 - a hint that cannot be evaluated is no hint
        hints = {name: hint for name, hint in hints.items() if not isinstance(hint, str)}
    return list(signature.parameters.values()), hints


def described(name: str, tool: Tool) -> str:
    text = getattr(tool, "desc", None) or inspect.getdoc(tool) or "The tool %s." % name
    return str(text)[:MAX_DESCRIPTION]


def schema_of(hint: Any) -> Dict[str, Any]:
    """A JSON Schema for a type hint; `{}`, anything, where JSON has no such type.

    >>> from typing import Optional, Literal
    >>> schema_of(Optional[typing.List[int]])
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    >>> schema_of(Literal["a", "b"]), schema_of(typing.Dict[str, float]), schema_of(bytes)
    ({'enum': ['a', 'b']}, {'type': 'object', 'additionalProperties': {'type': 'number'}}, {})
    """
    if hint is None:
        return {"type": "null"}
    if isinstance(hint, type) and hint in SIMPLE:
        return {"type": SIMPLE[hint]}
    origin, arguments = typing.get_origin(hint) or hint, typing.get_args(hint)
    if origin is typing.Literal:
        plain = all(isinstance(one, (str, int, bool, type(None))) for one in arguments)
        return {"enum": list(arguments)} if plain else {}
    if origin in UNIONS:
        choices = [schema_of(one) for one in arguments]
        return {"anyOf": choices} if all(choices) else {}
    if hasattr(hint, "__metadata__"):  # Annotated
        return schema_of(arguments[0])
    if origin in LISTS:
        items = schema_of(arguments[0]) if arguments and origin is not tuple else {}
        return {"type": "array", "items": items} if items else {"type": "array"}
    if origin in DICTS:
        values = schema_of(arguments[1]) if len(arguments) == 2 else {}
        return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
    return {}
