"""The package itself: its examples, its syntax, and that both APIs are the same."""
from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import unittest
from pathlib import Path
from typing import Any, Dict

import codecell
from codecell import aio

FOLDER = Path(codecell.__file__).parent
PAIRS = (
    (codecell.Codecell, aio.AsyncCodecell),
    (codecell.Session, aio.AsyncSession),
    (codecell.Run, aio.AsyncRun),
    (codecell.RemoteFile, aio.AsyncFile),
    (codecell.Exposure, aio.AsyncExposure),
)


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, _: Any) -> unittest.TestSuite:
    for found in pkgutil.walk_packages([str(FOLDER)], "codecell."):
        # `connect` has an example that needs a service: tests/service runs it.
        if found.name not in ("codecell.blocking", "codecell.local.keeper"):
            tests.addTests(doctest.DocTestSuite(importlib.import_module(found.name), optionflags=doctest.IGNORE_EXCEPTION_DETAIL))
    return tests


def methods(kind: type) -> Dict[str, Any]:
    return {name: one for name, one in vars(kind).items() if callable(one) and not name.startswith("_")}


def parameters(function: Any) -> Any:
    return [(one.name, one.kind, one.default) for one in inspect.signature(function).parameters.values()]


class PackageTest(unittest.TestCase):
    def test_each_file_has_the_syntax_of_python_3_9(self) -> None:
        files = list(FOLDER.rglob("*.py"))
        self.assertGreater(len(files), 15)
        for path in files:
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))

    def test_the_asyncio_api_has_every_method_of_the_blocking_one_with_the_same_parameters(self) -> None:
        for blocking, asynchronous in PAIRS:
            others = methods(asynchronous)
            for name, method in methods(blocking).items():
                self.assertIn(name, others, "%s.%s" % (asynchronous.__name__, name))
                self.assertEqual(parameters(method), parameters(others[name]), "%s.%s" % (blocking.__name__, name))

    def test_the_distribution_names_every_folder_of_the_package(self) -> None:
        text = (FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8")
        named = re.findall(r'"(codecell[.a-z]*)"', text.split("packages = ", 1)[1].split("\n", 1)[0])
        folders = {"codecell" + "".join("." + one for one in path.parent.relative_to(FOLDER).parts) for path in FOLDER.rglob("*.py")}
        self.assertEqual(sorted(named), sorted(folders))

    def test_only_the_standard_library_is_imported(self) -> None:
        standard = getattr(__import__("sys"), "stdlib_module_names", None)
        if standard is None:
            self.skipTest("needs Python 3.10")
        for path in FOLDER.rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and node.level == 0:
                    names = [node.module or ""]
                for name in names:
                    self.assertIn(name.split(".")[0], standard, str(path))
