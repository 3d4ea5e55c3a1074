"""Which lines of a program become installs."""
import unittest

from codecell_kernel.worker.guest_packages import translated


def problem(code):
    try:
        compile(code, "<test>", "exec")
    except SyntaxError as error:
        return error


def call(*words, indent=""):
    return "%s__import__('codecell_host').pip_install(%r)" % (indent, [*words])


class TranslatedTest(unittest.TestCase):
    def test_each_way_to_write_an_install_becomes_a_call(self):
        for line in ("%pip install a", "!pip install a", "! pip3 install a", "!python3 -m pip install a  # why"):
            self.assertEqual(translated("x = 1\n" + line + "\ny = 2", problem), "x = 1\n" + call("a") + "\ny = 2")

    def test_words_are_split_as_in_a_shell(self):
        self.assertEqual(translated("%pip install -q 'a>1,<2' \"b[c]\"", problem), call("-q", "a>1,<2", "b[c]"))

    def test_a_line_in_a_block_keeps_its_indentation(self):
        code = "if True:\n    %pip install a\n"
        self.assertEqual(translated(code, problem), "if True:\n" + call("a", indent="    ") + "\n")

    def test_a_line_in_a_text_is_no_install(self):
        code = "text = '''\n!pip install a\n'''\n%pip install b"
        self.assertEqual(translated(code, problem), "text = '''\n!pip install a\n'''\n" + call("b"))

    def test_other_mistakes_are_left_to_python(self):
        for code in ("%pip list", "x = = 1", "%pip install a\nx = = 1", "pip install a"):
            self.assertIsNone(translated(code, problem))

    def test_what_is_typed_never_becomes_code(self):
        made = translated("%pip install a');print('x", problem)
        self.assertEqual(made.count("print"), 1)
        self.assertIn("pip_install([", made)


if __name__ == "__main__":
    unittest.main()
