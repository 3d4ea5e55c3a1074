"""The protocol itself, with a real service on the process runner."""
from __future__ import annotations

import os
import signal
import threading
import unittest
from typing import Any
from unittest import mock

from codecell_dspy import CodecellInterpreter, CodeExecutionError, CodeInterpreterError
from codecell_dspy.interpreter import MARKER
from codecell_dspy.service import ServiceError

from .support import POLICY, InterpreterCase, command, missing


class Output(InterpreterCase):
    def test_returns_what_the_program_printed(self) -> None:
        self.assertEqual(self.cell.execute("print('a')\nprint('b')"), "a\nb\n")

    def test_returns_none_if_there_is_no_output(self) -> None:
        self.assertIsNone(self.cell.execute("x = 1"))

    def test_returns_the_value_of_the_last_expression(self) -> None:
        self.assertEqual(self.cell.execute("[1, 'two']"), [1, "two"])
        self.assertEqual(self.cell.execute("'a' + 'b'"), "ab")
        self.assertEqual(self.cell.execute("0"), "0")

    def test_shows_both_what_was_printed_and_the_value(self) -> None:
        self.assertEqual(self.cell.execute("print('seen')\n6 * 7"), "seen\n42")

    def test_calling_the_interpreter_executes_code(self) -> None:
        self.assertEqual(self.cell("print(n)", {"n": 1}), "1\n")


class State(InterpreterCase):
    def test_variables_functions_and_imports_persist(self) -> None:
        self.cell.execute("import math\ndef f(x): return math.sqrt(x)\ny = 16")
        self.assertEqual(self.cell.execute("print(f(y))"), "4.0\n")

    def test_two_interpreters_do_not_share_state(self) -> None:
        with self.factory() as other:
            self.cell.execute("mine = 1")
            with self.assertRaisesRegex(CodeExecutionError, "NameError"):
                other.execute("mine")

    def test_start_is_idempotent(self) -> None:
        self.cell.start()
        self.cell.execute("kept = 1")
        self.cell.start()
        self.assertEqual(self.cell.execute("kept"), "1")


class Variables(InterpreterCase):
    def test_are_set_again_for_every_execution(self) -> None:
        rows = [{"n": 1}]
        self.cell.execute("question = 'changed'; rows.clear()", {"question": "q", "rows": rows})
        self.assertEqual(self.cell.execute("print(question, rows)", {"question": "q", "rows": rows}), "q [{'n': 1}]\n")

    def test_keep_their_exact_values(self) -> None:
        given = {"big": 2**70, "real": 1.0, "inf": float("inf"), "none": None, "yes": True, "deep": {"a": [1, {"b": ()}]}}
        shown = self.cell.execute("print([big, real, inf, none, yes, deep])", given)
        self.assertEqual(shown, "[%d, 1.0, inf, None, True, {'a': [1, {'b': []}]}]\n" % 2**70)

    def test_text_is_never_read_as_code(self) -> None:
        text = "'''\"\"\"\\\n{} \x00 \u2028 \ud800 é 🎉'); import os"
        self.assertEqual(self.cell.execute("print(ascii(text))", {"text": text}), ascii(text) + "\n")

    def test_may_be_larger_than_a_request(self) -> None:
        text = "0123456789abcdef" * (20 * 65536)  # 20 MiB; a JSON request takes 16
        self.assertEqual(self.cell.execute("print(len(text), text[-3:])", {"text": text}), "%d def\n" % len(text))

    def test_names_that_are_no_variables_are_refused_before_anything_runs(self) -> None:
        for name in ("a b", "class", "__builtins__", "x = 1; y"):
            with self.assertRaises(CodeInterpreterError) as caught:
                self.cell.execute("print(1)", {name: 1})
            self.assertNotIsInstance(caught.exception, CodeExecutionError)
        self.assertEqual(self.cell.execute("print(1)"), "1\n")

    def test_a_value_without_a_json_form_is_refused(self) -> None:
        with self.assertRaisesRegex(CodeInterpreterError, "thing.*type object"):
            self.cell.execute("1", {"thing": object()})


class Failures(InterpreterCase):
    def test_invalid_syntax_raises_a_syntax_error_and_runs_nothing(self) -> None:
        with self.assertRaisesRegex(SyntaxError, "line 2"):
            self.cell.execute("x = 1\nif x\n")
        self.assertIn("NameError", self.failure("x"))

    def test_a_failing_program_raises_an_error_that_names_the_line_and_keeps_what_it_did(self) -> None:
        text = self.failure("before = 1\nprint('so far')\n1 / 0")
        self.assertTrue(text.startswith("ZeroDivisionError: division by zero\n"), text)
        self.assertIn("line 3", text)
        self.assertIn("so far", text)
        self.assertEqual(self.cell.execute("before"), "1")

    def test_a_program_that_times_out_can_be_repaired(self) -> None:
        with self.factory() as cell:
            cell._timeout = 3
            cell.execute("x = 1")
            with self.assertRaisesRegex(CodeExecutionError, "timed out"):
                cell.execute("while True: pass")
            self.assertEqual(cell.execute("x"), "1")

    def test_a_crash_keeps_the_variables_or_ends_the_interpreter(self) -> None:
        self.cell.execute("x = 1")
        with self.assertRaises(CodeInterpreterError) as caught:
            self.cell.execute("x = 2\nimport os\nos._exit(1)")
        if isinstance(caught.exception, CodeExecutionError):
            self.assertEqual(self.cell.execute("x"), "1")
        else:
            with self.assertRaises(CodeInterpreterError):
                self.cell.execute("x")

    def test_an_interrupt_stops_the_program_and_leaves_the_interpreter_usable(self) -> None:
        self.cell.tools["interrupt"] = lambda: os.kill(os.getpid(), signal.SIGINT)
        with self.assertRaises(KeyboardInterrupt):
            self.cell.execute("x = 1\ninterrupt()\nwhile True: pass")
        self.assertEqual(self.cell.execute("x"), "1")

    def test_an_interrupt_stops_a_program_whose_start_was_not_confirmed_yet(self) -> None:
        self.cell.start()
        service = self.cell._need()
        call = service.call

        def interrupted(method: str, path: str, *more: Any, **options: Any) -> Any:
            answer = call(method, path, *more, **options)
            if method == "POST" and path.endswith("/runs"):
                os.kill(os.getpid(), signal.SIGINT)
            return answer

        with mock.patch.object(service, "call", interrupted), self.assertRaises(KeyboardInterrupt):
            self.cell.execute("x = 1\nwhile True: pass")
        self.assertIsNone(self.cell.execute("y = 1"))

    def test_calls_that_cannot_be_fetched_end_the_execution(self) -> None:
        self.cell.tools["never"] = lambda: None
        self.cell.start()
        assert self.cell._calls is not None
        self.cell._calls._path = "/v1/sessions/another"
        with self.assertRaisesRegex(CodeInterpreterError, "could not be fetched.*another"):
            self.cell.execute("never()")

    def test_nothing_can_be_executed_after_shutdown(self) -> None:
        self.cell.execute("1")
        self.cell.shutdown()
        self.cell.shutdown()
        for use in (lambda: self.cell.execute("1"), self.cell.start):
            with self.assertRaisesRegex(CodeInterpreterError, "shut down"):
                use()

    def test_a_second_thread_is_refused_while_code_is_executing(self) -> None:
        entered, leave = threading.Event(), threading.Event()

        def pause() -> None:
            entered.set()
            leave.wait(30)

        self.cell.tools["pause"] = pause
        worker = threading.Thread(target=self.cell.execute, args=("pause()",))
        worker.start()
        self.assertTrue(entered.wait(30))
        with self.assertRaisesRegex(CodeInterpreterError, "one interpreter per thread"):
            self.cell.execute("1")
        leave.set()
        worker.join(30)
        self.assertEqual(self.cell.execute("1"), "1")


@unittest.skipIf(missing() is not None, str(missing()))
class WithoutRecovery(unittest.TestCase):
    """A policy that keeps no copies: a crash always loses the variables."""

    def setUp(self) -> None:
        self.cell = CodecellInterpreter(command=command(), policy={**POLICY, "session": {"recovery": "off"}})
        self.addCleanup(self.cell.shutdown)

    def test_a_crash_ends_the_interpreter_which_never_restarts_silently(self) -> None:
        self.cell.execute("x = 1")
        for code in ("import os; os._exit(1)", "print('alive')"):
            with self.assertRaises(CodeInterpreterError) as caught:
                self.cell.execute(code)
            self.assertNotIsInstance(caught.exception, CodeExecutionError)

    def test_a_crash_between_two_executions_is_noticed_before_more_code_runs(self) -> None:
        ran = threading.Event()
        self.cell.tools["ran"] = ran.set
        ended = "threading.Thread(target=lambda: (time.sleep(0.1), os._exit(1))).start()"
        self.cell.execute("import os, threading, time\n" + ended)
        path = "%s/variables/%s" % (self.cell._path, MARKER)
        for _ in range(1000):
            try:
                self.cell._need().call("GET", path)
            except ServiceError:
                break
        for _ in range(2):
            with self.assertRaisesRegex(CodeInterpreterError, "variables are lost"):
                self.cell.execute("ran()")
        self.assertFalse(ran.is_set())


class Arguments(unittest.TestCase):
    def test_a_service_with_its_own_policy_takes_no_other(self) -> None:
        with self.assertRaisesRegex(ValueError, "own policy"):
            CodecellInterpreter("http://127.0.0.1:1", "t", policy={})
        with self.assertRaisesRegex(ValueError, "token"):
            CodecellInterpreter("http://127.0.0.1:1")
