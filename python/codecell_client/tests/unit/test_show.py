"""How a run looks in a terminal and in Jupyter."""
from __future__ import annotations

import base64
import unittest
from typing import Any

from codecell.wire.decode import decode
from codecell.wire.run import RunResult

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\nrest").decode()
SCRIPT = "<script>alert(1)</script>"


def result(**fields: Any) -> RunResult:
    required = {"run_id": "r", "session_id": "s", "status": "ok", "stdout": "", "stderr": "", "truncated": False}
    return decode(RunResult, {**required, "duration_ms": 3, "runner": "process", **fields})


class ShowTest(unittest.TestCase):
    def test_the_repr_is_one_short_line(self) -> None:
        self.assertEqual(repr(result(value="2")), "RunResult('ok', value='2', 3 ms)")
        long = repr(result(status="error", stdout="x\n" * 100_000, error={"type": "E", "message": "m", "traceback": ""}))
        self.assertLess(len(long), 5000)
        self.assertNotIn("\n", long)

    def test_jupyter_renders_nothing_that_a_cell_wrote_as_html(self) -> None:
        displays = [
            {"display": 1, "mime_type": "text/html", "size": 1, "data_base64": base64.b64encode(SCRIPT.encode()).decode()},
            {"display": 2, "mime_type": "image/svg+xml", "size": 1, "data_base64": base64.b64encode(SCRIPT.encode()).decode()},
            {"display": 3, "mime_type": "image/png", "size": 1, "data_base64": base64.b64encode(SCRIPT.encode()).decode()},
            {"display": 4, "mime_type": 'image/png" onload="alert(1)', "size": 1, "data_base64": PNG},
            {"display": 5, "mime_type": "image/png", "size": 1, "data_base64": PNG},
        ]
        error = {"type": SCRIPT, "message": SCRIPT, "traceback": SCRIPT}
        artifact = {"name": SCRIPT, "size": 1, "mime_type": SCRIPT, "sha256": SCRIPT}
        texts = {"stdout": SCRIPT, "stderr": SCRIPT, "value": SCRIPT, "notes": [SCRIPT], "status": SCRIPT}
        shown = result(displays=displays, error=error, artifacts=[artifact], **texts)._repr_mimebundle_()
        self.assertNotIn("<script", shown["text/html"])
        self.assertNotIn("onload", shown["text/html"])
        self.assertEqual(shown["text/html"].count("<img"), 1)
        self.assertEqual(shown["text/html"].count("&lt;script"), 7)
