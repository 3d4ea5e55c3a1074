import builtins
import json
import sys
import unittest
from unittest import mock

from codecell_kernel.worker import interpreter
from codecell_kernel.worker.errors import KernelError
from codecell_kernel.worker.interpreter import Interpreter


def drive(coroutine):
    """Runs a coroutine that never waits, as the worker does."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("the interpreter waited")


class Runs(unittest.TestCase):
    def setUp(self):
        self.sent = []
        self.saved = dict(vars(builtins))
        self.interpreter = Interpreter(lambda header, body=b"": self.sent.append((header, bytes(body))), None)
        self.run_id = 0

    def tearDown(self):
        vars(builtins).update(self.saved)

    def run_code(self, code):
        self.run_id += 1
        return drive(self.interpreter.execute(self.run_id, code))

    def test_the_last_expression_is_the_result(self):
        self.assertEqual(self.run_code("x = 20\nx * 2 + 2"), {"status": "ok", "exitCode": 0, "result": "42"})
        self.assertEqual(self.run_code("x = None\nx"), {"status": "ok", "exitCode": 0})

    def test_a_single_simple_statement_has_the_same_result_as_in_a_longer_program(self):
        statements = """x|x = 1|x += 1|'text'|...|None|print|del x|import os|1 / 0|x ==|(|)|yield|return 1|pass|break|f'{x}'
            |"a\\n"|x =|a, = [1]|*a, b = [1, 2]|a = b = 3|raise ValueError('a')|assert 0|global x|nonlocal x|lambda|[i for i in 'ab']
            |raise SystemExit(3)|x if x else 2|not x|x\\|b'1'|1 2|from os import path|from __future__ import annotations|x = yield
            |print(1) if x else 2|"\\ud800"|import no_such_module|__name__|_|(x, x)|x.y|x[0]|{x}|@x|if x|None = 1"""
        for statement in statements.replace("\n            |", "|").split("|"):
            quick, slow = self.ending(statement, lambda _: True), self.ending(statement, lambda _: False)
            with self.subTest(statement):
                self.assertTrue(interpreter.is_one_simple_statement(statement))
                self.assertEqual(quick, slow)

    def ending(self, statement, is_simple):
        """The result in a new interpreter with x = 6, with or without a syntax tree."""
        one = Interpreter(lambda *_: None, None)
        with mock.patch.object(interpreter, "is_one_simple_statement", lambda _: False):
            drive(one.execute(1, "x = 6\n7"))
        with mock.patch.object(interpreter, "is_one_simple_statement", is_simple):
            done = drive(one.execute(2, statement))
        return done, {name: value for name, value in one.namespace.items() if name[:2] != "__"}.keys()

    def test_other_code_is_not_mistaken_for_a_single_simple_statement(self):
        for code in ("", " ", " x", "\tx", "x\ny", "x; y", "if x: y", "# only this", "x # and this", "\x0cx", "x" * 401):
            with self.subTest(code):
                self.assertFalse(interpreter.is_one_simple_statement(code))

    def test_a_run_keeps_the_displayhook_that_user_code_set(self):
        self.addCleanup(setattr, sys, "displayhook", sys.displayhook)
        real = sys.displayhook
        self.run_code("1 + 1")
        self.assertIs(sys.displayhook, real)
        self.run_code("1 / 0")
        self.assertIs(sys.displayhook, real)
        self.run_code("import sys")
        self.run_code("sys.displayhook = print")
        self.assertIs(sys.displayhook, print)

    def test_a_traceback_shows_user_frames_and_their_source(self):
        trace = self.run_code("def f():\n    return 1 / 0\nf()")["error"]["traceback"]
        self.assertIn('File "<run 1>", line 2, in f', trace)
        self.assertIn("return 1 / 0", trace)
        self.assertNotIn("codecell_kernel", trace)

    def test_a_chained_exception_shows_both_without_kernel_frames(self):
        trace = self.run_code("try:\n    1 / 0\nexcept Exception as e:\n    raise ValueError('next') from e")["error"]
        self.assertIn("ZeroDivisionError", trace["traceback"])
        self.assertIn("ValueError: next", trace["traceback"])
        self.assertNotIn("codecell_kernel", trace["traceback"])

    def test_functions_of_an_earlier_run_keep_their_source(self):
        self.run_code("def f():\n    return 1 / 0")
        self.assertIn("return 1 / 0", self.run_code("f()")["error"]["traceback"])

    def test_patched_builtins_affect_user_code_only(self):
        self.run_code("import builtins\nbuiltins.len = builtins.isinstance = builtins.repr = builtins.dict = None")
        failed, worked, called = (self.run_code(code) for code in ("1 / 0", "40 + 2", "len('x')"))
        listed = self.interpreter.variables()
        vars(builtins).update(self.saved)
        self.assertEqual(failed["error"]["name"], "ZeroDivisionError")
        self.assertIn("1 / 0", failed["error"]["traceback"])
        self.assertEqual(worked["result"], "42")
        self.assertEqual(json.loads(listed), [])
        self.assertEqual(called["error"]["name"], "TypeError")

    def test_an_exception_has_the_name_that_a_traceback_prints(self):
        cases = {
            "import json; json.loads('')": "json.decoder.JSONDecodeError",
            "class Own(Exception): pass\nraise Own": "Own",
            "def f():\n    class Inner(Exception): pass\n    raise Inner\nf()": "f.<locals>.Inner",
            "class Odd(type):\n    __module__ = property(lambda _: 1 / 0)\n"
            "class Named(Exception, metaclass=Odd): pass\nraise Named": "Named",
        }
        for code, name in cases.items():
            with self.subTest(name):
                error = self.run_code(code)["error"]
                self.assertEqual(error["name"], name)
                self.assertRegex(error["traceback"].splitlines()[-1], "^%s(:|$)" % name.replace(".", "[.]"))

    def test_a_long_result_is_truncated_and_marked_as_truncated(self):
        done = self.run_code("'x' * 1_000_000")
        self.assertTrue(done["resultTruncated"])
        self.assertLessEqual(len(done["result"]), 20_000)

    def test_a_large_display_is_sent_in_pieces(self):
        self.run_code("class P:\n    def _repr_png_(self): return bytes(300_000)\ndisplay(P())")
        pieces = [(header["more"], len(body)) for header, body in self.sent if header["mime"] == "image/png"]
        self.assertEqual([more for more, _ in pieces], [True, True, False])
        self.assertEqual(sum(size for _, size in pieces), 300_000)

    def test_a_summary_does_not_iterate_over_a_large_value(self):
        self.run_code("class Loud:\n    shown = 0\n    def __repr__(self):\n        Loud.shown += 1\n        return 'x'\nmany = [Loud()] * 100_000")
        rows = {row["name"]: row for row in json.loads(self.interpreter.variables())}
        self.assertIn("100000 items", rows["many"]["summary"])
        self.assertLess(int(self.interpreter.get("Loud.shown", "json", 100)), 10)

    def test_the_error_names_the_type_that_cannot_be_converted_to_json(self):
        for expression, code in (("object()", "variable_unserializable"), ("nowhere", "variable_missing"), ("1/0", "expression_failed")):
            with self.subTest(expression), self.assertRaises(KernelError) as caught:
                self.interpreter.get(expression, "json", 1000)
            self.assertEqual(caught.exception.code, code)

    def test_a_value_over_the_size_limit_is_rejected(self):
        with self.assertRaises(KernelError) as caught:
            self.interpreter.get("'x' * 1000", "bytes", 100)
        self.assertEqual(caught.exception.code, "too_large")

    def test_a_preview_stays_within_its_limit_and_splits_no_character(self):
        for size in range(200, 210):
            line, text = self.interpreter.get("'\u20ac' * 1000", "preview", size).split(b"\n", 1)
            self.assertEqual(json.loads(line), {"form": "json", "characters": 1002})
            self.assertLessEqual(len(line) + 1 + len(text), size)
            self.assertEqual(set(text.decode()), {'"', "\u20ac"})

    def test_a_preview_of_a_value_without_json_is_its_repr(self):
        self.assertEqual(self.interpreter.get("{1: float('nan')}", "preview", 1000), b'{"form":"repr","characters":8}\n{1: nan}')


if __name__ == "__main__":
    unittest.main()
