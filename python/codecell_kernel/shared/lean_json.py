"""JSON for headers, on CPython's C parts alone: importing `json` would double a cold cell's start."""
from .pristine import BUILTINS as __builtins__  # noqa: A001

try:
    from _json import encode_basestring_ascii, make_encoder, make_scanner

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

    def refuse(value):
        raise TypeError(type(value).__name__)

    # in the order of its arguments: no memory of what it is in, and neither spaces, nor an order, nor NaN
    encode = make_encoder(None, refuse, encode_basestring_ascii, None, ":", ",", False, False, False)

    def dumps(value):
        return "".join(encode(value, 0))

except ImportError:
    from json import dumps, loads  # noqa: F401
