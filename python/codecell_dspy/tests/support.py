"""What the tests need of a machine: a built codecell and the process runner."""
from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path
from typing import Any, Optional, Sequence

from codecell_dspy import CodecellFactory, CodeExecutionError

ROOT = Path(__file__).resolve().parents[3]


def command() -> Sequence[str]:
    """The built codecell of this checkout, or `CODECELL_TEST_COMMAND`, a JSON list."""
    given = os.environ.get("CODECELL_TEST_COMMAND")
    return json.loads(given) if given else ["node", str(ROOT / "bin/codecell.js")]


@functools.lru_cache(maxsize=None)
def missing() -> Optional[str]:
    """Why the tests cannot run here, or None."""
    if shutil.which(command()[0]) is None:
        return "there is no %s" % command()[0]
    if not (ROOT / "dist/bundled/surfaces/cli/launch/launch.cjs").exists():
        return "codecell is not built (npm run build)"
    found = subprocess.run([*command(), "doctor", "--json"], capture_output=True, text=True, timeout=120, check=False)
    try:
        runners = json.loads(found.stdout)["runners"]
    except (ValueError, KeyError, TypeError):
        return "codecell doctor failed: %s" % found.stderr.strip()
    usable = [one["name"] for one in runners if one.get("available")]
    return None if "process" in usable else "the process runner is not available (codecell doctor says why)"


POLICY = {"isolation": {"runner": "process"}, "proc": {"timeout": "60s"}}


class InterpreterCase(unittest.TestCase):
    """Each test has an interpreter of its own, and each class a server."""

    factory: CodecellFactory

    @classmethod
    def setUpClass(cls) -> None:
        if missing():
            raise unittest.SkipTest(str(missing()))
        cls.factory = CodecellFactory(command=command(), policy=POLICY)
        cls.addClassCleanup(cls.factory.close)

    def setUp(self) -> None:
        self.cell = self.factory()
        self.addCleanup(self.cell.shutdown)

    def failure(self, code: str, **variables: Any) -> str:
        with self.assertRaises(CodeExecutionError) as caught:
            self.cell.execute(code, variables)
        return str(caught.exception)
