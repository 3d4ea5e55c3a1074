"""Functions of the host as Python functions of the cell: real signatures, docstrings and type hints, values as JSON.

A function is compiled from a syntax tree. Nothing that the host or the program supplies ever becomes source text.
"""
from ..shared.pristine import BUILTINS, BUILTINS as __builtins__, restored  # noqa: A001
import builtins
import keyword
import sys

import _ast

MODULE = "codecell_host"
FILENAME = __file__  # tracebacks leave out the kernel's own frames
PLACE = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
# A failure of the host may be caught under these names too.
NAMED_ERRORS = ("ValueError", "TypeError", "LookupError", "TimeoutError", "PermissionError", "NotImplementedError")


class Omitted:
    """The default of an optional parameter that the host fills in."""

    def __repr__(self):
        return "..."


OMITTED = Omitted()


class HostError(Exception):
    """A function of the host failed. `type` names the kind of failure."""

    type = "HostError"


class LmFailure(str):
    """Marks a model call that failed. It is text like an answer, but `ok` is False, so a program can filter it out."""

    ok = False


HostError.__module__ = LmFailure.__module__ = MODULE
HOST_ERRORS = {
    name: type(name, (HostError, BUILTINS[name]), {"__module__": MODULE, "type": name}) for name in NAMED_ERRORS
}


class Submitted(SystemExit):
    """Ends the run: the host has accepted its outputs."""

    def __init__(self):
        SystemExit.__init__(self, 0)


class GuestFunctions:
    """The functions that the host exposes now. They are built-in names: every module sees them, and they are no variables."""

    def __init__(self, call, namespace):
        """`call(name, arguments, inputs)` returns the host's answer as bytes. `namespace()` is the program's."""
        self.call = call
        self.namespace = namespace
        self.exposed = {}
        self.module = type(sys)(MODULE, "Functions of the host.")
        self.module.HostError = HostError
        self.module.LmFailure = LmFailure
        sys.modules[MODULE] = self.module

    def expose(self, specs):
        """Replaces the whole set."""
        for name, function in self.exposed.items():
            if getattr(builtins, name, None) is function:
                delattr(builtins, name)
            if getattr(self.module, name, None) is function:
                delattr(self.module, name)
        self.exposed = {spec["name"]: self.function(spec) for spec in specs if is_usable(spec["name"])}
        for name, function in self.exposed.items():
            setattr(builtins, name, function)
            setattr(self.module, name, function)
        if any(spec.get("kind") == "packages" for spec in specs):
            from .guest_packages import enable

            try:
                with restored():
                    enable()
            except Exception:
                pass  # the program has broken `os` or `sys`: an install says so

    def function(self, spec):
        kind = KINDS[spec.get("kind", "call")]
        function = compiled(spec, lambda values: kind(self, spec, values))
        function.__doc__ = spec["description"]
        function.__module__ = MODULE
        return function

    def plain_call(self, spec, values):
        """Other keyword arguments are arguments like the named ones."""
        for one in spec["parameters"]:
            if one.get("rest"):
                values.update(values.pop(one["name"]))
        return self.ask(spec, values)

    def ask(self, spec, values, inputs=None):
        """The decoded answer of the host."""
        with restored():
            data = encoded(values)
        answer = self.call(spec["name"], data, inputs)
        with restored():
            from json import loads

            value = loads(answer.decode()) if answer else None
        return with_failures(value) if spec.get("answers") == "model" else value

    def packages(self, spec, values):
        from .guest_packages import install

        install(lambda asked: self.ask(spec, asked), values)

    def submit(self, spec, values):
        self.plain_call(spec, values)
        raise Submitted()

    def show_vars(self, _spec, _values):
        """The program's variables with their types: a local function, so that it costs nothing."""
        from .variables import type_name

        hidden = ("__builtins__",)
        return {
            name: type_name(value)
            for name, value in list(self.namespace().items())
            if type(name) is str and name[:1] != "_" and name not in hidden and type(value) is not type(sys)
        }

    def fork(self, spec, values):
        """The inputs stay here: the host forks this interpreter, and the fork finds them in its own memory."""
        items = [values.pop("inputs")] if "inputs" in values else values.pop("items")
        items = [dict(item) for item in items]
        for item in items:
            if not all(type(name) is str and name.isidentifier() for name in item):
                raise TypeError("the inputs of a sub-agent need names that are identifiers")
        return self.ask(spec, dict(values, items=[list(item) for item in items]), items)


KINDS = {
    "call": GuestFunctions.plain_call,
    "submit": GuestFunctions.submit,
    "show_vars": GuestFunctions.show_vars,
    "fork": GuestFunctions.fork,
    "packages": GuestFunctions.packages,
}


def is_usable(name):
    """A name that no builtin has: the program's own `print` stays what it was."""
    return type(name) is str and name.isidentifier() and not keyword.iskeyword(name) and name not in BUILTINS


def compiled(spec, call):
    """A function whose parameters Python itself checks. It calls `call` with the dict of its arguments."""
    parameters = [one for one in spec["parameters"] if not one.get("rest")]
    rest = next((one["name"] for one in spec["parameters"] if one.get("rest")), None)
    required = [one for one in parameters if one.get("required")]
    optional = [one for one in parameters if not one.get("required")]
    names = [one["name"] for one in required + optional]
    passed = [*names, rest] if rest is not None else names
    place = PLACE
    values = _ast.Dict(
        [_ast.Constant(name, **place) for name in passed], [_ast.Name(name, _ast.Load(), **place) for name in passed], **place
    )
    body = [_ast.Return(_ast.Call(_ast.Name("call host", _ast.Load(), **place), [values], [], **place), **place)]
    arguments = _ast.arguments(
        posonlyargs=[],
        args=[_ast.arg(one["name"], hint(one), **place) for one in required + optional],
        vararg=None,
        kwonlyargs=[],
        kw_defaults=[],
        kwarg=None if rest is None else _ast.arg(rest, None, **place),
        defaults=[_ast.Name("default " + one["name"], _ast.Load(), **place) for one in optional],
    )
    definition = _ast.FunctionDef(
        name=spec["name"], args=arguments, body=body, decorator_list=[], returns=hint(spec, "returns"), type_comment=None, **place
    )
    if "type_params" in _ast.FunctionDef._fields:  # since Python 3.12
        definition.type_params = []
    # Names with a space: no program can mean them.
    scope = {"__builtins__": BUILTINS, "__name__": MODULE, "call host": call}
    for one in optional:
        scope["default " + one["name"]] = one.get("default", OMITTED)
    exec(compile(_ast.Module([definition], []), FILENAME, "exec"), scope)
    return scope[spec["name"]]


def hint(described, field="hint"):
    text = described.get(field)
    return None if text is None else _ast.Constant(text, **PLACE)


def encoded(values):
    from json import dumps

    given = {name: value for name, value in values.items() if value is not OMITTED}
    return dumps(given, default=plain, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def plain(value):
    """What JSON has no form for: numbers and arrays of numpy, sets, dates."""
    for method in ("tolist", "isoformat"):
        convert = getattr(value, method, None)
        if convert is not None:
            return convert()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError("a value of type %s cannot be passed to the host: pass text, numbers, lists or dicts" % type(value).__name__)


def with_failures(value):
    """Answers of models: `{"text": …}` or `{"error": …}`, one or a list."""
    if type(value) is list:
        return [with_failures(one) for one in value]
    if type(value) is not dict:
        return value
    return LmFailure("[ERROR] " + value["error"]) if "error" in value else value["text"]


class Answer:
    """An answer that arrives in pieces. The first one says whether it is one, and how long it is."""

    def __init__(self):
        self.missing = None
        self.pieces = []

    def add(self, header, body):
        """The whole answer once it is complete, else None. Raises HostError if the call failed."""
        if self.missing is None:
            if not header["ok"]:
                raise failure(header["error"])
            self.missing = header["size"]
        self.pieces.append(body)
        self.missing -= len(body)
        return b"".join(self.pieces) if self.missing <= 0 else None


def failure(error):
    """The exception for an answer that is not ok."""
    named = str(error.get("type", "HostError"))
    raised = HOST_ERRORS.get(named, HostError)(str(error.get("message", "the host gave no reason")))
    raised.type = named
    return raised
