"""JSON for headers, on CPython's C parts alone: importing `json` would double a cold cell's start."""
from .pristine import BUILTINS as __builtins__  # noqa: A001

try:
    from _json import encode_basestring_ascii as quote, make_scanner

    class Context:
        strict = True
        object_hook = object_pairs_hook = None
        parse_float = float
        parse_int = int
        parse_constant = float
        memo = {}

    scan = make_scanner(Context())

    def loads(text):
        return scan(text, 0)[0]

    def dumps(value):
        if isinstance(value, str):
            return quote(value)
        if value is None:
            return "null"
        if value is True or value is False:
            return "true" if value else "false"
        if isinstance(value, (int, float)):
            return repr(value)
        if isinstance(value, dict):
            return "{" + ",".join([quote(k) + ":" + dumps(v) for k, v in value.items()]) + "}"
        return "[" + ",".join([dumps(item) for item in value]) + "]"

except ImportError:
    from json import dumps, loads  # noqa: F401
