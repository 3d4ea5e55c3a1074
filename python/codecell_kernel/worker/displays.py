"""Rich representations of values: what `display()` and a last expression send to the host."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys

MAX_DISPLAY_BYTES = 16 << 20
MAX_RUN_BYTES = 64 << 20
CHUNK_BYTES = 128 << 10
MAX_TEXT = 20_000
FIGURES = "codecell_kernel.worker.figures"  # codecell's matplotlib backend, which only matplotlib imports

METHODS = (
    ("_repr_html_", "text/html"),
    ("_repr_markdown_", "text/markdown"),
    ("_repr_svg_", "image/svg+xml"),
    ("_repr_png_", "image/png"),
    ("_repr_jpeg_", "image/jpeg"),
    ("_repr_latex_", "text/latex"),
    ("_repr_json_", "application/json"),
)


current = None  # the Displays of this interpreter, for libraries that show something on their own


class Displays:
    """Sends the displays of one run, in pieces, up to a limit."""

    def __init__(self, emit):
        global current
        self.emit = emit
        self.begin(0)
        current = self

    def begin(self, run_id):
        self.run_id = run_id
        self.count = 0
        self.sent = 0

    def show(self, *values, raw=False):
        """The `display` function of user code: shows each value in every format it offers."""
        for value in values:
            if raw and isinstance(value, dict):
                self.send({mime: to_bytes(mime, data) for mime, data in value.items()})
            else:
                parts = {"text/plain": text_of(value).encode("utf-8", "backslashreplace")}
                parts.update(rich_parts(value))
                self.send(parts)

    def send(self, parts):
        self.count += 1
        for mime, data in parts.items():
            if data is None:
                continue
            if len(data) > MAX_DISPLAY_BYTES or self.sent + len(data) > MAX_RUN_BYTES:
                mime, data = "text/plain", ("<%s of %d bytes omitted: over the display limit>" % (mime, len(data))).encode()
            self.sent += len(data)
            self.send_part(str(mime)[:100], data)

    def send_part(self, mime, data):
        view, at = memoryview(data), 0
        while True:
            piece = view[at : at + CHUNK_BYTES]
            at += CHUNK_BYTES
            more = at < len(view)
            self.emit({"t": "display", "id": self.run_id, "display": self.count, "mime": mime, "more": more}, piece)
            if not more:
                return


def rich_parts(value):
    """MIME type to bytes, for every format that the value offers. A format that fails is skipped."""
    kind = type(value)
    parts = {}
    bundle = getattr(kind, "_repr_mimebundle_", None)
    if bundle is not None:
        try:
            made = bundle(value)
            made = made[0] if isinstance(made, tuple) else made
            for mime, data in dict(made or {}).items():
                parts[mime] = to_bytes(mime, data)
        except Exception:
            pass
    for method, mime in METHODS:
        if mime in parts:
            continue
        represent = getattr(kind, method, None)
        if represent is None:
            continue
        try:
            data = represent(value)
            if data is not None:
                parts[mime] = to_bytes(mime, data[0] if isinstance(data, tuple) else data)
        except Exception:
            pass
    figures = sys.modules.get(FIGURES)
    if figures is not None and figures.is_figure(value):
        parts["image/png"] = figures.png(value)
    return {mime: data for mime, data in parts.items() if data is not None}


def to_bytes(mime, data):
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data)
    if isinstance(data, str):
        if mime in ("image/png", "image/jpeg"):
            from binascii import a2b_base64

            return a2b_base64(data)
        return data.encode("utf-8", "backslashreplace")
    import json

    return json.dumps(data, default=str).encode()


def text_of(value):
    """The value's repr, truncated. The value's own code may fail."""
    try:
        text = repr(value)
        if not isinstance(text, str):
            raise TypeError
    except Exception as error:
        return "<%s: repr failed with %s>" % (type(value).__name__, type(error).__name__)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT]
