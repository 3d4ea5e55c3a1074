"""The call sequence of an RLM, by a stand-in and, where it is installed, by DSPy itself."""
from __future__ import annotations

import importlib.util
import threading
import unittest
from typing import Any, Callable, Dict, List

from codecell_dspy import CodecellFactory, CodeExecutionError, FinalOutput

from .support import POLICY, command, missing


class ScriptedRlmCaller:
    """Calls an interpreter in the order of DSPy's RLM, with programs from a list. It is not DSPy, and has no model."""

    def __init__(self, make: Callable[[], Any], outputs: List[str], programs: List[str]) -> None:
        self.make = make
        self.outputs = outputs
        self.programs = programs
        self.prompts: List[str] = []
        self.history: List[str] = []
        self._guard = threading.Lock()

    def llm_query(self, prompt: str) -> str:
        """Asks a model."""
        if not prompt:
            raise ValueError("prompt cannot be empty")
        with self._guard:
            self.prompts.append(prompt)
        return prompt.upper()

    def llm_query_batched(self, prompts: List[str]) -> List[str]:
        """Asks a model several things at once."""
        return [self.llm_query(one) for one in prompts]

    def __call__(self, **inputs: Any) -> Dict[str, Any]:
        interpreter = self.make()
        try:
            interpreter.tools.update(llm_query=self.llm_query, llm_query_batched=self.llm_query_batched)
            if hasattr(interpreter, "output_fields"):
                interpreter.output_fields = [{"name": name} for name in self.outputs]
            interpreter.start()
            for program in self.programs:
                try:
                    shown = interpreter.execute(program, variables=dict(inputs))
                except (CodeExecutionError, SyntaxError) as error:
                    self.history.append("[Error] %s" % error)
                    continue
                if isinstance(shown, FinalOutput):
                    return shown.output
                self.history.append("\n".join(map(str, shown)) if isinstance(shown, list) else str(shown or ""))
            raise AssertionError("no program submitted: %r" % self.history)
        finally:
            interpreter.shutdown()


@unittest.skipIf(missing() is not None, str(missing()))
class RlmCallers(unittest.TestCase):
    factory: CodecellFactory

    @classmethod
    def setUpClass(cls) -> None:
        cls.factory = CodecellFactory(command=command(), policy=POLICY)
        cls.addClassCleanup(cls.factory.close)

    def test_a_caller_explores_repairs_its_code_asks_models_and_submits(self) -> None:
        programs = [
            "print(len(context), type(question).__name__)",
            "lines = context.split('\\n'",
            "lines = context.splitlines()\nllm_query('')",
            "answers = llm_query_batched(lines[:3])\ncontext = 'overwritten'",
            "SUBMIT(answers + [context[:4]], count=len(lines))",
        ]
        caller = ScriptedRlmCaller(self.factory, ["answer", "count"], programs)
        outputs = caller(context="line a\nline b\nline c\nline d", question="?")
        self.assertEqual(outputs, {"answer": ["LINE A", "LINE B", "LINE C", "line"], "count": 4})
        self.assertEqual(caller.history[0], "27 str\n")
        self.assertIn("[Error] Invalid Python syntax", caller.history[1])
        self.assertIn("[Error] ValueError: prompt cannot be empty", caller.history[2])
        self.assertEqual(caller.prompts, ["line a", "line b", "line c"])

    def test_callers_run_at_the_same_time(self) -> None:
        results: Dict[int, Any] = {}

        def call(n: int) -> None:
            caller = ScriptedRlmCaller(self.factory, ["total"], ["s = sum(rows)", "SUBMIT(s)"])
            results[n] = caller(rows=[n, n])["total"]

        threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(120)
        self.assertEqual(results, {n: 2 * n for n in range(4)})

    def test_the_factory_describes_its_environment_and_is_no_interpreter(self) -> None:
        self.assertIn("codecell", self.factory.execution_instructions)
        self.assertFalse(all(hasattr(self.factory, name) for name in ("tools", "start", "execute", "shutdown")))

    @unittest.skipIf(importlib.util.find_spec("dspy") is None, "DSPy is not installed (pip install dspy)")
    def test_dspy_itself_runs_an_rlm_in_a_cell(self) -> None:
        import dspy
        from dspy.primitives.code_interpreter import CodeInterpreter
        from dspy.utils.dummies import DummyLM

        with self.factory() as cell:
            self.assertIsInstance(cell, CodeInterpreter)
        steps = [
            {"reasoning": "look", "code": "```python\nn = len(text)\nprint(n)\n```"},
            {"reasoning": "done", "code": "```python\nSUBMIT(n)\n```"},
        ]
        rlm = dspy.RLM("text -> length: int", max_iters=4, interpreter_factory=self.factory)
        with dspy.context(lm=DummyLM(steps)):
            self.assertEqual(rlm(text="x" * 1000).length, 1000)
