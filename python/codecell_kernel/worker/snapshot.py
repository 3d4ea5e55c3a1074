"""Saves variables as bytes, one by one, and lists what was skipped and why.

The bytes are made and read inside a cell only: the host stores them and never unpickles. A snapshot is a sequence of
entries `u32 header length · u64 body length · JSON header · body`.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys
from _struct import Struct

from ..shared.lean_json import dumps, loads

PREFIX = Struct("<IQ")
MAX_HEADER = 64 << 10
PLAIN = (bool, int, float, complex, str, bytes, bytearray, type(None))
ModuleType, FunctionType = type(sys), type(lambda: None)


def entries(namespace, hidden, sources, allowance=None, waiting=()):
    """Yields (header, body) of each variable; a header with `skipped` has no body.

    `waiting` are entries of an earlier snapshot that need a module which this cell lacks. They stay in the next one,
    unless their name has a new value: a call without its packages must not cost the variables.
    """
    for header, body in waiting:
        if header["name"] in namespace:
            continue
        if allowance is not None:
            try:
                allowance.check_size(len(body))
                allowance.spend(len(body))
            except Exception as error:
                skipped = ("%s: %s" % (type(error).__name__, error))[:300]
                yield {"name": header["name"], "type": header.get("type", ""), "skipped": skipped}, b""
                continue
        yield header, body
    for name, value in list(namespace.items()):
        if not isinstance(name, str) or name in hidden or name.startswith("__"):
            continue
        header = {"name": name, "type": type(value).__name__[:100]}
        try:
            codec, body = encode_within(allowance, value, sources)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            header["skipped"] = ("%s: %s" % (type(error).__name__, error))[:300]
            yield header, b""
            continue
        header["codec"] = codec
        yield header, body


def encode_within(allowance, value, sources):
    """Encodes a value within the allowance, if there is one."""
    if allowance is None:
        return encode(value, sources)
    allowance.check_size(least_size(value))
    codec, body = allowance.call(encode, value, sources)
    allowance.check_size(len(body))
    allowance.spend(len(body))
    return codec, body


def least_size(value):
    """A lower bound for the size of a value, without running its code."""
    kind = type(value)
    if kind in (bytes, bytearray, str):
        return len(value)
    if kind.__module__ in ("numpy", "pandas"):
        try:
            return int(value.nbytes)  # arrays, series and indexes have it; tables do not
        except Exception:
            return 0
    return 0


def encode(value, sources):
    if type(value) is ModuleType:
        return "module", value.__name__.encode()
    if is_defined_here(value):
        return encode_definition(value, sources)
    return encode_value(value)


def is_defined_here(value):
    """Whether the session defined this function or class: pickle would store only its name."""
    return isinstance(value, (type, FunctionType)) and getattr(value, "__module__", None) == "__main__"


def encode_definition(value, sources):
    by_value = better_pickle()
    if by_value is not None:
        return by_value.__name__, by_value.dumps(value)
    if getattr(value, "__closure__", None) or value.__name__ == "<lambda>" or "<locals>" in value.__qualname__:
        raise ValueError("saving a closure or lambda needs cloudpickle or dill in the cell")
    return "source", definition_text(value.__qualname__, sources).encode()


def definition_text(name, sources):
    """The latest top-level definition of that name in the code of the session's runs, decorators included."""
    import ast

    for text in reversed(list(sources.texts.values())):
        if name not in text:
            continue
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError):
            continue
        for node in reversed(body):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
                return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    raise ValueError("its source is no longer in the history; install cloudpickle or dill in the cell to save it")


def encode_value(value):
    import pickle

    try:
        return "pickle", pickle.dumps(value, protocol=4)
    except Exception:
        by_value = better_pickle()
        if by_value is None:
            raise
        return by_value.__name__, by_value.dumps(value)


def better_pickle():
    """cloudpickle or dill, if the cell has one."""
    for name in ("cloudpickle", "dill"):
        try:
            return __import__(name)
        except ImportError:
            continue
    return None


def pack(header, body):
    text = dumps(header).encode()
    return PREFIX.pack(len(text), len(body)) + text


def parse(data):
    """Yields (header, body) of each entry. Raises ValueError if the bytes are truncated or malformed."""
    view, at = memoryview(data), 0
    while at < len(view):
        if len(view) - at < PREFIX.size:
            raise ValueError("the snapshot is truncated")
        header_length, body_length = PREFIX.unpack_from(view, at)
        at += PREFIX.size
        if header_length > MAX_HEADER or len(view) - at < header_length + body_length:
            raise ValueError("the snapshot is truncated")
        try:
            header = loads(str(view[at : at + header_length], "utf-8"))
        except (StopIteration, UnicodeDecodeError):
            header = None
        if type(header) is not dict or type(header.get("name")) is not str or type(header.get("codec", "")) is not str:
            raise ValueError("an entry has a malformed header")
        at += header_length
        yield header, view[at : at + body_length]
        at += body_length


def restore(namespace, data, sources, allowance=None, waiting=None):
    """Restores the variables. Definitions come first: pickled values may refer to them. Returns what failed and why.

    `waiting` is a list that gets the entries which need a module that this cell lacks.
    """
    failed = []
    parsed = [(header, body) for header, body in parse(data) if "codec" in header]
    order = {"module": 0, "source": 1}
    for header, body in sorted(parsed, key=lambda entry: order.get(entry[0]["codec"], 2)):
        name = header["name"]
        try:
            if allowance is None:
                decode(namespace, name, header["codec"], body, sources)
            else:
                allowance.call(decode, namespace, name, header["codec"], body, sources)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            if waiting is not None and isinstance(error, ModuleNotFoundError):
                waiting.append((header, bytes(body)))
            failed.append({"name": name, "reason": ("%s: %s" % (type(error).__name__, error))[:300]})
    return failed


def decode(namespace, name, codec, body, sources):
    if codec == "module":
        import importlib

        namespace[name] = importlib.import_module(str(body, "utf-8"))
    elif codec == "source":
        text = str(body, "utf-8")
        filename = "<restored %s>" % name
        sources.remember(filename, text)
        defined = {}
        exec(compile(text, filename, "exec"), namespace, defined)
        namespace.update(defined)
        if name not in defined and len(defined) == 1:
            namespace[name] = next(iter(defined.values()))
    elif codec == "pickle":
        import pickle

        namespace[name] = pickle.loads(body)
    elif codec in ("cloudpickle", "dill"):
        namespace[name] = __import__(codec).loads(bytes(body))
    else:
        raise ValueError("unknown codec " + str(codec)[:40])
