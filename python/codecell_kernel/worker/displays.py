"""Rich representations of values: what `display()` and a last expression send to the host."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import sys

MAX_DISPLAY_BYTES = 16 << 20
MAX_RUN_BYTES = 64 << 20
CHUNK_BYTES = 128 << 10
MAX_TEXT = 20_000
MAX_PICTURE_BYTES = 200 << 10  # what a reply to a model shows of one picture: see src/service/replies/image-content.ts
PREVIEW = "image/png;preview=true"  # the same picture with fewer pixels, if it is larger than that
LEAST_SIDE = 64  # pixels
TRIES = 4
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


# Values of exactly these types have no other format than text: nothing can be added to the types themselves.
PLAIN = frozenset((int, str, float, bool, bytes, list, tuple, dict, set, frozenset, complex, range, type(None)))

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
        self.pictures = ()  # of this run, by their bytes' hash

    def show(self, *values, raw=False):
        """The `display` function of user code: shows each value in every format it offers."""
        for value in values:
            if raw and isinstance(value, dict):
                self.send({mime: to_bytes(mime, data) for mime, data in value.items()})
            else:
                text = text_of(value)
                if len(text) == MAX_TEXT:
                    text += "\n[... truncated to %d characters ...]" % MAX_TEXT
                parts = {"text/plain": text.encode("utf-8", "backslashreplace")}
                parts.update(rich_parts(value))
                self.send(parts, value)

    def show_value(self, text, value):
        """The value of the last expression, if it has more than text and its picture was not shown in this run already."""
        kind = type(value)
        if type(kind) is type and kind in PLAIN:  # a metaclass may have any `__hash__`
            return
        parts = rich_parts(value)
        if parts and not self.has_shown(parts.get("image/png")):
            self.send(dict({"text/plain": text.encode("utf-8", "backslashreplace")}, **parts), value)

    def show_figure(self, text, picture, figure):
        """A figure that is shown without being named, unless this run has displayed it as it is now."""
        if not self.has_shown(picture):
            self.send({"text/plain": text, "image/png": picture}, figure)

    def has_shown(self, picture):
        return picture is not None and hash(picture) in self.pictures

    def send(self, parts, value=None):
        self.count += 1
        flush_output()  # so that the display comes after what was printed before it
        picture = parts.get("image/png")
        if picture is not None:
            self.pictures = (*self.pictures, hash(picture))
            if len(picture) > MAX_PICTURE_BYTES:
                parts = dict(parts, **{PREVIEW: smaller_picture(value, picture)})
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


def flush_output():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # user code may have replaced it with anything


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


def smaller_picture(value, data):
    """The picture within the limit of a reply: a figure is drawn again, anything else is scaled. None if neither works."""
    figures = sys.modules.get(FIGURES)
    try:
        if figures is not None and figures.is_figure(value):
            return figures.smaller_png(value, len(data))
        return scaled_picture(data)
    except Exception:
        return None


def scaled_picture(data):
    """Needs Pillow, which comes with matplotlib."""
    import io

    from PIL import Image

    picture = Image.open(io.BytesIO(data))
    if picture.mode not in ("L", "RGB", "RGBA"):
        picture = picture.convert("RGBA")
    width, height, size = picture.width, picture.height, len(data)
    for _ in range(TRIES):
        scale = scale_to_fit(size)
        width, height = int(width * scale), int(height * scale)
        if max(width, height) < LEAST_SIDE or not (width and height):
            return None
        buffer = io.BytesIO()
        picture.resize((width, height), Image.LANCZOS).save(buffer, "PNG")
        size = buffer.tell()
        if size <= MAX_PICTURE_BYTES:
            return buffer.getvalue()
    return None


def scale_to_fit(size):
    """By which to multiply the sides of a picture of that many bytes. A smaller picture compresses less well."""
    return max(0.2, 0.9 * (MAX_PICTURE_BYTES / size) ** 0.5)


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
