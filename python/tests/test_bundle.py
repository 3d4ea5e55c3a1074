import os
import subprocess
import sys
import tempfile
import unittest

from codecell_kernel.bundle import ELSEWHERE, bundle, module_name, sources

KERNEL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "codecell_kernel")
START = """import sys, builtins, marshal
with open(sys.argv[1], 'rb') as file: data = file.read()
root = sys.argv[2]
exec(marshal.loads(data), {'data': data, 'root': root, '__builtins__': dict(vars(builtins))})
"""


class Bundles(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = os.path.join(directory.name, "bundle")
        with open(self.file, "wb") as file:
            file.write(bundle(KERNEL))

    def run_with_bundle(self, code):
        command = [sys.executable, "-I", "-S", "-B", "-c", START + code, self.file, os.path.dirname(KERNEL)]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/", timeout=30)
        self.assertEqual(done.stderr, "")
        return done.stdout.strip()

    def test_a_bundle_holds_every_module_that_a_cell_imports(self):
        modules = [module_name(file) for file in sources(KERNEL) if file not in ELSEWHERE]
        self.assertIn("codecell_kernel.worker.shell", modules)
        code = "import importlib\nfor name in %r: importlib.import_module(name)\n" % modules
        code += "print(all(sys.modules[name].__file__.startswith('/.kernel/') for name in %r))" % modules
        self.assertEqual(self.run_with_bundle(code), "True")

    def test_modules_are_imported_from_the_bundle(self):
        code = "from codecell_kernel.worker import variables as v\nprint(v.__file__, v.listing({'x': 1}, ()))"
        expected = "/.kernel/codecell_kernel/worker/variables.py [{'name': 'x', 'type': 'int', 'summary': '1', 'size': 28}]"
        self.assertEqual(self.run_with_bundle(code), expected)

    def test_the_bundle_leaves_other_modules_to_the_interpreter(self):
        self.assertEqual(self.run_with_bundle("import json\nprint(json.loads('[1]'))"), "[1]")
        code = "try:\n    import codecell_kernel.worker.nothing\nexcept ImportError as e:\n    print(e.name)"
        self.assertEqual(self.run_with_bundle(code), "codecell_kernel.worker.nothing")

    def test_modules_can_be_imported_after_user_code_replaced_builtins(self):
        code = "def no(*_): raise SystemError\nbuiltins.exec = builtins.compile = no\n"
        code += "import codecell_kernel.worker.shell\nprint('there')"
        self.assertEqual(self.run_with_bundle(code), "there")

    def test_modules_are_found_as_files_if_user_code_removed_our_importer(self):
        code = "sys.meta_path[:] = sys.meta_path[1:]\nfrom codecell_kernel.worker import errors\nprint(errors.__file__)"
        code = "import codecell_kernel.worker\n" + code
        self.assertEqual(self.run_with_bundle(code), os.path.join(KERNEL, "worker", "errors.py"))

    def test_a_traceback_does_not_show_frames_of_bundled_modules(self):
        code = """
from codecell_kernel.worker.interpreter import Interpreter
try: Interpreter(None, None).execute(1, "1 / 0").send(None)
except StopIteration as end: print('codecell_kernel' in end.value["error"]["traceback"], end.value["error"]["name"])
"""
        self.assertEqual(self.run_with_bundle(code), "False ZeroDivisionError")


if __name__ == "__main__":
    unittest.main()
