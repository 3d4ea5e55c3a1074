"""The examples of docs/clients-python.md, of the README and of `connect`."""
from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import shlex
import unittest
from pathlib import Path
from typing import Any, Dict, List
from unittest import mock

import codecell
import codecell.blocking

from .support import ROOT, ServiceCase, command

FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
PAGES = (ROOT / "docs/clients-python.md", ROOT / "python/codecell_client/README.md")


def blocks(page: Path, language: str) -> List[str]:
    return re.findall(r"^```%s\n(.*?)^```$" % language, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


class DocsTest(ServiceCase):
    def setUp(self) -> None:
        super().setUp()
        # The strictest policy, as a reader without a policy file has it. One service instead of one per block.
        environment = {"CODECELL_COMMAND": shlex.join(command())}
        patched = mock.patch.dict(os.environ, environment)
        patched.start()
        self.addCleanup(patched.stop)
        before = os.getcwd()
        os.chdir(self.directory)
        self.addCleanup(os.chdir, before)

    def run_examples(self, text: str, name: str, names: Dict[str, Any]) -> None:
        test = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
        self.assertGreater(len(test.examples), 0)
        report = io.StringIO()
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        runner.run(test, out=report.write)
        self.assertEqual(runner.failures, 0, report.getvalue())

    def test_the_blocks_of_the_page_do_what_they_show(self) -> None:
        self.run_examples("\n".join(blocks(PAGES[0], "pycon")), "clients-python.md", {"codecell": codecell})

    def test_the_programs_of_the_page_and_the_readme_run(self) -> None:
        with mock.patch.dict(os.environ, {"CODECELL_URL": self.server.url, "CODECELL_TOKEN": self.server.token}):
            for page, outputs in ((PAGES[0], ["2\n", "hi"]), (PAGES[1], ["2\n"])):
                programs = blocks(page, "python")
                self.assertEqual(len(programs), len(outputs))
                names: Dict[str, Any] = {}
                for program, output in zip(programs, outputs):
                    shown = io.StringIO()
                    with contextlib.redirect_stdout(shown):
                        exec(compile(program, str(page), "exec"), names)
                    self.assertIn(output, shown.getvalue())

    def test_the_example_of_connect_starts_a_service_of_its_own(self) -> None:
        self.run_examples(str(codecell.connect.__doc__), "connect", dict(vars(codecell.blocking)))


if __name__ == "__main__":
    unittest.main()
