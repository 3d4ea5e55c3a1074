"""SUBMIT and the tools of the caller, with a real service on the process runner."""
from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any, List

from codecell_dspy import CodeInterpreterError, FinalOutput

from .support import InterpreterCase

request_id: "contextvars.ContextVar[str]" = contextvars.ContextVar("request_id", default="none")


class Submit(InterpreterCase):
    def setUp(self) -> None:
        super().setUp()
        self.cell.output_fields = [{"name": "answer", "type": "str"}, {"name": "score"}]

    def test_takes_positions_and_keywords_and_ends_the_program(self) -> None:
        expected = FinalOutput({"answer": "a", "score": [1.5]})
        self.assertEqual(self.cell.execute("SUBMIT('a', [1.5])\nafter = 1"), expected)
        self.assertEqual(self.cell.execute("print('after' in globals())"), "False\n")
        self.assertEqual(self.cell.execute("SUBMIT(score=[1.5], answer='a')"), expected)

    def test_passes_an_except_exception_and_keeps_the_state(self) -> None:
        code = "n = 3\ntry:\n    SUBMIT('a', n)\nexcept Exception:\n    print('caught')"
        self.assertEqual(self.cell.execute(code), FinalOutput({"answer": "a", "score": 3}))
        self.assertEqual(self.cell.execute("n"), "3")

    def test_a_missing_field_is_an_error_of_the_program(self) -> None:
        self.assertIn("score", self.failure("SUBMIT('a')"))

    def test_values_of_any_type_reach_the_caller_who_validates_them(self) -> None:
        self.assertEqual(self.cell.execute("SUBMIT(None, {'x': 'y'})"), FinalOutput({"answer": None, "score": {"x": "y"}}))

    def test_other_output_fields_apply_from_the_next_execution_on(self) -> None:
        self.cell.execute("1")
        self.cell.output_fields = [{"name": "total"}]
        self.assertEqual(self.cell.execute("SUBMIT(total=1)"), FinalOutput({"total": 1}))

    def test_without_output_fields_it_takes_one_output(self) -> None:
        self.cell.output_fields = None
        self.assertEqual(self.cell.execute("SUBMIT(5)"), FinalOutput({"output": 5}))

    def test_an_earlier_submission_is_not_reported_again(self) -> None:
        self.cell.execute("SUBMIT('a', 1)")
        self.assertEqual(self.cell.execute("print('next')"), "next\n")


class Tools(InterpreterCase):
    def test_take_positions_keywords_and_defaults(self) -> None:
        def join(a: str, b: str = "-", *, times: int = 1) -> str:
            """Joins."""
            return (a + b) * times

        self.cell.tools["join"] = join
        self.assertEqual(self.cell.execute("join('x') + join('y', '+') + join(a='z', times=2)"), "x-y+z-z-")
        self.assertEqual(self.cell.execute("join.__doc__"), "Joins.")

    def test_an_update_of_the_tools_applies_to_the_next_execution(self) -> None:
        self.cell.tools.update(version=lambda: 1)
        self.assertEqual(self.cell.execute("version()"), "1")
        self.cell.tools.update(version=lambda: 2, more=lambda: 3)
        self.assertEqual(self.cell.execute("version() + more()"), "5")
        del self.cell.tools["more"]
        self.assertIn("NameError", self.failure("more()"))

    def test_return_json_values_and_text_for_everything_else(self) -> None:
        results = {"nothing": None, "pair": (1, 2), "table": [{"a": 1.5}], "other": 3 + 4j}
        self.cell.tools["get"] = lambda name: results[name]
        shown = self.cell.execute("print([get(n) for n in ('nothing', 'pair', 'table', 'other')])")
        self.assertEqual(shown, "[None, [1, 2], [{'a': 1.5}], '(3+4j)']\n")

    def test_an_exception_of_a_tool_has_its_type_and_message_in_the_program(self) -> None:
        def fail(kind: str) -> None:
            raise {"value": ValueError, "own": ZeroDivisionError}[kind]("no " + kind)

        self.cell.tools["fail"] = fail
        self.assertEqual(self.cell.execute("try:\n    fail('value')\nexcept ValueError as e:\n    print(e)"), "no value\n")
        caught = "try:\n    fail('own')\nexcept Exception as e:\n    print(e.type, e)"
        self.assertEqual(self.cell.execute(caught), "ZeroDivisionError no own\n")
        self.assertTrue(self.failure("fail('value')").startswith("ValueError: no value"))

    def test_arguments_of_a_wrong_type_do_not_reach_the_tool(self) -> None:
        seen: List[Any] = []

        def take(n: int) -> None:
            seen.append(n)

        self.cell.tools["take"] = take
        self.assertIn("TypeError", self.failure("take('one')"))
        self.assertEqual(seen, [])

    def test_calls_from_threads_run_at_the_same_time(self) -> None:
        together = threading.Barrier(4)

        def meet(n: int) -> int:
            together.wait(60)  # passes only if four calls are here at once
            return n * n

        self.cell.tools["meet"] = meet
        code = "from concurrent.futures import ThreadPoolExecutor as P\nprint(list(P(4).map(meet, range(4))))"
        self.assertEqual(self.cell.execute(code), "[0, 1, 4, 9]\n")

    def test_coroutines_are_awaited(self) -> None:
        async def later(n: int) -> int:
            await asyncio.sleep(0)
            return n + 1

        self.cell.tools["later"] = later
        self.assertEqual(self.cell.execute("later(1)"), "2")

    def test_see_the_context_variables_of_the_caller(self) -> None:
        self.cell.tools["current"] = request_id.get
        request_id.set("one")
        self.assertEqual(self.cell.execute("current()"), "one")
        request_id.set("two")
        self.assertEqual(self.cell.execute("current()"), "two")

    def test_a_tool_cannot_execute_code_in_its_own_interpreter(self) -> None:
        self.cell.tools["nested"] = lambda: self.cell.execute("1")
        self.assertIn("a tool cannot execute code", self.failure("nested()"))

    def test_any_keywords_are_passed_on(self) -> None:
        self.cell.tools["anything"] = lambda **given: sorted(given.items())
        self.assertEqual(self.cell.execute("anything(b=2, a='x')"), [["a", "x"], ["b", 2]])

    def test_a_name_that_python_uses_is_refused(self) -> None:
        for name in ("print", "a-b", "SUBMIT"):
            self.cell.tools = {name: lambda: 1}
            with self.assertRaises(CodeInterpreterError):
                self.cell.execute("1")
        self.cell.tools = {}
        self.assertEqual(self.cell.execute("1"), "1")
