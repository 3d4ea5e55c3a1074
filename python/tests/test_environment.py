import subprocess
import sys
import unittest

PROGRAM = """
import sys
sys.path.insert(0, "python")
{before}
from codecell_kernel.worker.interpreter import set_environment
set_environment({{"NAME": "w\u00e4rt", "PATH": "/bin"}})
assert ("os" in sys.modules) == {is_loaded}, "os"
import os
print(sorted(os.environ.items()))
print(os.popen("echo $NAME $OTHER").read())
"""


def answer(before):
    program = PROGRAM.format(before=before, is_loaded=bool(before))
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", program]
    return subprocess.run(command, env={"OTHER": "1"}, capture_output=True, text=True, encoding="utf-8")


class Environment(unittest.TestCase):
    def check(self, before):
        ended = answer(before)
        self.assertEqual(ended.stderr, "")
        self.assertIn("[('NAME', 'w\u00e4rt'), ('PATH', '/bin')]", ended.stdout)
        self.assertIn("\nw\u00e4rt\n", ended.stdout)

    def test_the_new_environment_is_visible_to_a_program_that_imports_os_later(self):
        self.check("")

    def test_the_new_environment_replaces_the_old_one_if_os_is_already_imported(self):
        self.check("import os")
