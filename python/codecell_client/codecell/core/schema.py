"""A Python function as the service declares it: a JSON Schema of its parameters, and a call with JSON arguments."""
from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import types
import typing
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

MAX_DESCRIPTION = 20_000
SIMPLE = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))


@dataclasses.dataclass(frozen=True)
class Function:
    """A function for programs, where its signature and docstring do not say enough.

    `input` and `output` are JSON Schemas, `timeout` is in seconds, and a call of one with `submit` ends the program.
    """

    call: Callable[..., Any]
    description: Optional[str] = None
    input: Optional[Mapping[str, Any]] = None
    output: Optional[Mapping[str, Any]] = None
    timeout: float = 120.0
    submit: bool = False


def declaration(name: str, function: Function) -> Dict[str, Any]:
    """The function for `PUT …/functions`.

    >>> def find(text: str, limit: int = 5): "Finds text."
    >>> declaration("find", Function(find))["input"]["properties"]["limit"]
    {'type': 'integer'}
    """
    text = function.description or inspect.getdoc(function.call) or "The function %s." % name
    declared: Dict[str, Any] = {"name": name, "description": text[:MAX_DESCRIPTION], "timeout": function.timeout}
    declared["input"] = dict(function.input) if function.input is not None else schema_of_call(function.call)
    if function.output is not None:
        declared["output"] = dict(function.output)
    if function.submit:
        declared["kind"] = "submit"
    return declared


def schema_of_call(call: Callable[..., Any]) -> Dict[str, Any]:
    properties: Dict[str, Any] = {}
    required: List[str] = []
    parameters, hints = signature_of(call)
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
    for one in parameters:
        if one.kind is inspect.Parameter.VAR_KEYWORD:
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
    return schema


def call_with(call: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Calls by keywords, except where Python needs positions.

    >>> call_with(lambda a, *rest: (a, rest), {"a": 1, "rest": [2, 3]})
    (1, (2, 3))
    """
    parameters, _ = signature_of(call)
    left = dict(given)
    rest = next((one for one in parameters if one.kind is inspect.Parameter.VAR_POSITIONAL), None)
    spread: List[Any] = left.pop(rest.name, []) if rest else []
    positions: List[Any] = []
    for one in parameters:
        by_position = one.kind is inspect.Parameter.POSITIONAL_ONLY
        if spread and one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            by_position = True  # what follows `*` fills the parameters before it
        if by_position and one.name in left:
            positions.append(left.pop(one.name))
    return call(*positions, *spread, **left)


def signature_of(call: Callable[..., Any]) -> Tuple[List[inspect.Parameter], Dict[str, Any]]:
    """The parameters and their type hints. A function without a signature takes any keyword."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):
        return [inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)], {}
    hints = {name: one.annotation for name, one in signature.parameters.items()}
    try:
        hints.update(typing.get_type_hints(call))
    except Exception:  # noqa: BLE001 - a hint that cannot be evaluated is no hint
        hints = {name: hint for name, hint in hints.items() if not isinstance(hint, str)}
    return list(signature.parameters.values()), hints


def schema_of(hint: Any) -> Dict[str, Any]:
    """A JSON Schema for a type hint; `{}`, anything, where JSON has no such type.

    >>> from typing import Dict, List, Optional
    >>> schema_of(Optional[List[int]])
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    >>> schema_of(Dict[str, float]), schema_of(bytes)
    ({'type': 'object', 'additionalProperties': {'type': 'number'}}, {})
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
