"""JSON for headers, using only CPython's C parts: importing `json` would double the time of a cold start."""
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

    # arguments in order: no check for cycles, no spaces, no sorted keys, no NaN
    encode = make_encoder(None, refuse, encode_basestring_ascii, None, ":", ",", False, False, False)

    def dumps(value):
        return "".join(encode(value, 0))

except ImportError:
    from json import dumps, loads  # noqa: F401
