"""A run as people see it: in a terminal and in Jupyter. What a cell wrote is never rendered as HTML."""
from __future__ import annotations

import base64
import html
from typing import TYPE_CHECKING, Dict, List, Optional

if TYPE_CHECKING:
    from .run import Display, RunResult

MAX_TEXT = 2_000
MAX_PICTURE = 4 << 20
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


def text_of_run(run: "RunResult") -> str:
    """One line: the status and what the program answered."""
    parts = [repr(run.status)]
    if run.value is not None:
        parts.append("value=%s" % shortened(repr(run.value)))
    for name, text in (("stdout", run.stdout), ("stderr", run.stderr)):
        if text:
            parts.append("%s=%s" % (name, shortened(repr(text))))
    if run.error is not None:
        parts.append("error=%s" % shortened(repr("%s: %s" % (run.error.type, run.error.message))))
    for name, items in (("displays", run.displays), ("artifacts", run.artifacts), ("notes", run.notes)):
        if items:
            parts.append("%s=%d" % (name, len(items)))
    if run.state not in (None, "kept"):
        parts.append("state=%r" % run.state)
    return "RunResult(%s, %d ms)" % (", ".join(parts), run.duration_ms)


def html_of_run(run: "RunResult") -> str:
    parts: List[str] = []
    for title, text in (("", run.stdout), ("stderr", run.stderr), ("", failure_text(run)), ("", run.value)):
        if text:
            parts.append('<pre title="%s">%s</pre>' % (title, html.escape(shortened(text, 10 * MAX_TEXT))))
    for display in run.displays:
        shown = picture(display)
        if shown:
            parts.append(shown)
    if run.artifacts:
        names = ", ".join("%s (%d bytes)" % (one.name, one.size) for one in run.artifacts[:50])
        parts.append("<p>files: %s</p>" % html.escape(shortened(names)))
    for note in run.notes[:20]:
        parts.append("<p>%s</p>" % html.escape(shortened(note)))
    status = "" if run.status == "ok" else "<b>%s</b> " % html.escape(run.status)
    return "<div>%s<small>%s%d ms</small></div>" % ("".join(parts), status, run.duration_ms)


def mime_bundle_of_run(run: "RunResult") -> Dict[str, str]:
    return {"text/plain": text_of_run(run), "text/html": html_of_run(run)}


def failure_text(run: "RunResult") -> Optional[str]:
    if run.error is None:
        return None
    return run.error.traceback or "%s: %s" % (run.error.type, run.error.message)


def picture(display: "Display") -> Optional[str]:
    """An <img> of a picture that can hold no script. Its first bytes have to be those of its type."""
    first_bytes = PICTURES.get(display.mime_type)
    if first_bytes is None or display.data_base64 is None or len(display.data_base64) > MAX_PICTURE:
        return None
    data = display.data or b""
    if not data.startswith(first_bytes):
        return None
    return '<img src="data:%s;base64,%s">' % (display.mime_type, base64.b64encode(data).decode("ascii"))


def shortened(text: str, limit: int = MAX_TEXT) -> str:
    """
    >>> shortened("a" * 10, 4)
    'aa…aa'
    """
    return text if len(text) <= limit else text[: limit // 2] + "…" + text[-limit // 2 :]
