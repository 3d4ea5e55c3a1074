"""Lists, reads and sets the session's variables."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys

from .errors import KernelError

MAX_LISTED = 2000
MAX_SUMMARY = 160
ModuleType = type(sys)


def listing(namespace, hidden):
    """Names, types, sizes in bytes and short summaries. The cost does not depend on the size of the values."""
    rows = []
    for name, value in list(namespace.items()):
        if not isinstance(name, str) or name.startswith("_") or name in hidden or type(value) is ModuleType:
            continue
        row = {"name": name[:200], "type": type_name(value), "summary": summary(value)}
        size = size_of(value)
        if size is not None:
            row["size"] = size
        rows.append(row)
        if len(rows) >= MAX_LISTED:
            break
    return rows


def type_name(value):
    kind = type(value)
    module = getattr(kind, "__module__", "builtins")
    name = str(getattr(kind, "__qualname__", "object"))
    return (name if module in ("builtins", "__main__") else "%s.%s" % (module, name))[:200]


def size_of(value):
    try:
        nbytes = getattr(type(value), "nbytes", None)
        if nbytes is not None:
            return max(0, int(value.nbytes))
        usage = getattr(type(value), "memory_usage", None)
        if usage is not None:
            total = value.memory_usage()
            return max(0, int(total.sum() if hasattr(total, "sum") else total))
        return max(0, int(sys.getsizeof(value)))
    except Exception:
        return None


def summary(value):
    try:
        return clip(describe(value))
    except Exception as error:
        return "<summary failed with %s>" % type(error).__name__


def describe(value):
    kind = type(value)
    if kind in (str, bytes, bytearray):
        return "%d %s: %r" % (len(value), "characters" if kind is str else "bytes", value[:80])
    if kind in (list, tuple, set, frozenset, dict):
        return "%d items: %s" % (len(value), first_items(value))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and all(isinstance(n, int) for n in shape):
        columns = getattr(value, "columns", None)
        if columns is not None:
            return "%s rows x %s columns: %s" % (shape[0], shape[1], ", ".join(str(c) for c in list(columns[:8])))
        return "shape %s, dtype %s" % (shape, getattr(value, "dtype", "?"))
    if kind.__name__ in ("function", "builtin_function_or_method", "type"):
        return "%s %s" % (kind.__name__, getattr(value, "__qualname__", ""))
    return repr(value)


def first_items(value):
    from itertools import islice

    if type(value) is dict:
        return "{%s}" % ", ".join("%s: %s" % (short(k), short(v)) for k, v in islice(value.items(), 5))
    return "[%s]" % ", ".join(short(item) for item in islice(value, 5))


def short(value):
    if type(value) in (list, tuple, set, frozenset, dict):
        return "%s(%d)" % (type(value).__name__, len(value))
    if type(value) in (str, bytes, bytearray):
        return repr(value[:24])
    return clip(repr(value), 24)


def clip(text, limit=MAX_SUMMARY):
    text = text if len(text) <= limit else text[: limit - 1] + "…"
    return text.replace("\n", " ")


def encode(value, form):
    """A value as bytes for the host. No pickle here: the host never unpickles."""
    if form == "repr":
        return repr(value).encode("utf-8", "backslashreplace")
    if form == "bytes":
        if isinstance(value, bytes):
            return value
        if isinstance(value, (bytearray, memoryview)):
            return bytes(value)
        if isinstance(value, str):
            return value.encode("utf-8", "surrogatepass")
        raise KernelError("variable_unserializable", "a %s has no raw bytes; use the format json or repr" % type_name(value))
    import json

    try:
        return json.dumps(value, default=plain, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        message = "a %s cannot be converted to JSON: %s" % (type_name(value), clip(str(error)))
        raise KernelError("variable_unserializable", message)


PREVIEW_HEADER = 64  # upper bound for the first line, in bytes


def preview(value, max_bytes):
    """One line with the format and the total length, then the beginning of the value as JSON or as its repr."""
    form, text = "json", None
    try:
        import json

        text = json.dumps(value, default=plain, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        form, text = "repr", repr(value)
    room = max(0, max_bytes - PREVIEW_HEADER)
    data = text[:room].encode("utf-8", "backslashreplace")
    if len(data) > room:
        data = data[:room].decode("utf-8", "ignore").encode()  # no partial character at the end
    return b'{"form":"%s","characters":%d}\n%s' % (form.encode(), len(text), data)


def plain(value):
    """Converts common data types for JSON: arrays, data frames, dates, sets."""
    if hasattr(value, "to_dict"):
        try:
            return value.to_dict(orient="records")
        except TypeError:
            return value.to_dict()
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (set, frozenset)):
        return list(value)
    raise TypeError("no JSON representation for " + type_name(value))


def decode(data, form):
    if form == "bytes":
        return data
    if form == "text":
        return str(data, "utf-8", "replace")
    import json

    try:
        return json.loads(bytes(data))
    except ValueError as error:
        raise KernelError("variable_unserializable", "not JSON: " + clip(str(error)))
