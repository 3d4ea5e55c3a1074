"""The trust boundary inside a cell is a folder boundary: who may import from whom."""
import ast
import os
import unittest

from codecell_kernel.bundle import sources

KERNEL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "codecell_kernel")
MAY_IMPORT = {
    "": (),  # bundle.py and importer.py run before the package exists
    "shared": (),
    "files": ("shared",),  # reads and writes the workspace for the host
    "measure": ("shared",),  # counts what processes use
    "supervisor": ("shared", "files", "measure"),  # owns the channel and never runs user code
    "prompt": ("shared",),  # looks at the variables, for people at a prompt
    "worker": ("shared", "prompt"),  # runs user code
    "entry": ("shared", "measure", "supervisor", "worker"),
}
MOST_FILES = 25


def folder_of(file):
    return file.rpartition("/")[0]


def imported_folders(file, text):
    """The folders of the kernel that a module's imports name."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "codecell_kernel":
                    yield from folders_named(alias.name.split(".")[1:])
        elif isinstance(node, ast.ImportFrom):
            parts = node.module.split(".") if node.module else []
            if node.level == 0 and parts[:1] == ["codecell_kernel"]:
                parts = parts[1:]
            elif node.level:
                own = file.split("/")[: -node.level]
                parts = own + parts
            else:
                continue
            for alias in node.names:
                yield from folders_named([*parts, alias.name])


def folders_named(parts):
    return [parts[0]] if parts and parts[0] in MAY_IMPORT else []


def violations(file, text):
    folder = folder_of(file)
    allowed = (folder, *MAY_IMPORT[folder])
    return ["%s imports from %s" % (file, other) for other in imported_folders(file, text) if other not in allowed]


def read(file):
    with open(os.path.join(KERNEL, file), encoding="utf-8") as source:
        return source.read()


class KernelFolders(unittest.TestCase):
    def test_every_folder_of_the_kernel_is_in_the_import_table(self):
        self.assertEqual({folder_of(file) for file in sources(KERNEL)}, set(MAY_IMPORT))

    def test_modules_import_only_from_the_folders_that_the_table_allows(self):
        self.assertEqual([one for file in sources(KERNEL) for one in violations(file, read(file))], [])

    def test_no_folder_of_the_kernel_holds_more_than_25_files(self):
        files = [folder_of(file) for file in sources(KERNEL)]
        self.assertEqual([folder for folder in MAY_IMPORT if files.count(folder) > MOST_FILES], [])

    def test_every_module_takes_its_builtins_from_pristine_before_any_other_statement(self):
        for file in sources(KERNEL):
            if folder_of(file) == "" or file.endswith(("/__init__.py", "/pristine.py")):
                continue
            body = ast.parse(read(file)).body
            first = next(node for node in body if not isinstance(node, ast.Expr))
            with self.subTest(file):
                self.assertIsInstance(first, ast.ImportFrom)
                self.assertEqual((first.module or "").split(".")[-1], "pristine")
                self.assertIn(("BUILTINS", "__builtins__"), [(one.name, one.asname) for one in first.names])


class TheImportCheck(unittest.TestCase):
    def test_every_way_to_import_across_the_boundary_is_found(self):
        for line in (
            "from ..worker import worker",
            "from ..worker.worker import main",
            "from .. import worker",
            "import codecell_kernel.worker.worker",
            "from codecell_kernel.worker import worker",
            "from codecell_kernel import worker",
            "def later():\n    from ..worker.shell import Shell",
        ):
            with self.subTest(line):
                found = violations("supervisor/link.py", line)
                self.assertEqual(found, ["supervisor/link.py imports from worker"])

    def test_imports_from_the_own_folder_shared_and_the_standard_library_are_allowed(self):
        for line in ("from . import claims", "from .link import X", "from ..shared.frames import head", "import posix"):
            with self.subTest(line):
                self.assertEqual(violations("supervisor/link.py", line), [])


if __name__ == "__main__":
    unittest.main()
