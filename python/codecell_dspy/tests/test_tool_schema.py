"""Declarations of Python functions, and the examples in the documentation of the modules."""
from __future__ import annotations

import doctest
import functools
import inspect
import unittest
from typing import Any, Dict, List, Literal, Optional, Union

from codecell_dspy import protocol, service, tool_schema, values
from codecell_dspy.tool_schema import call_tool, declaration, schema_of, submit_declaration


def load_tests(_loader: unittest.TestLoader, tests: unittest.TestSuite, _pattern: Optional[str]) -> unittest.TestSuite:
    for module in (protocol, service, tool_schema, values):
        tests.addTests(doctest.DocTestSuite(module))
    return tests


class Wrapped:
    """Shaped like a dspy.Tool: it takes keywords, and its function has the signature."""

    desc = "Doubles."

    def __init__(self) -> None:
        def double(n: int) -> int:
            return 2 * n

        self.func = double
        self.args = {"n": {"type": "integer"}}

    def __call__(self, **given: Any) -> Any:
        return self.func(**given)


class Declarations(unittest.TestCase):
    def test_hints_become_schemas(self) -> None:
        for hint, schema in [
            (str, {"type": "string"}),
            (float, {"type": "number"}),
            (bool, {"type": "boolean"}),
            (list, {"type": "array"}),
            (dict, {"type": "object"}),
            (Any, {}),
            (List[str], {"type": "array", "items": {"type": "string"}}),
            (Dict[str, Any], {"type": "object"}),
            (Optional[int], {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            (Union[str, bytes], {}),
            (Literal["a", 1], {"enum": ["a", 1]}),
            (Wrapped, {}),
        ]:
            with self.subTest(hint=hint):
                self.assertEqual(schema_of(hint), schema)

    def test_parameters_without_a_default_are_required(self) -> None:
        def search(text: str, limit: "int" = 5, where: "NoSuchName" = None) -> str:  # type: ignore[name-defined] # noqa: F821
            """Searches."""
            return ""

        made = declaration("search", search, 60)
        self.assertEqual(made["description"], "Searches.")
        self.assertEqual(made["input"]["required"], ["text"])
        self.assertEqual(list(made["input"]["properties"]), ["text", "limit", "where"])

    def test_a_wrapper_is_described_by_its_function_and_called_by_keywords(self) -> None:
        wrapped = Wrapped()
        made = declaration("double", wrapped, 60)
        self.assertEqual(made["input"]["properties"], {"n": {"type": "integer"}})
        self.assertEqual(made["description"], "Doubles.")
        self.assertEqual(call_tool(wrapped, {"n": 4}), 8)

    def test_a_function_with_a_borrowed_signature_gets_keywords(self) -> None:
        def original(a: int, b: int = 1) -> int:
            return a + b

        @functools.wraps(original)
        def keywords_only(**given: int) -> int:
            return original(**given)

        keywords_only.__signature__ = inspect.signature(original)  # type: ignore[attr-defined]
        self.assertEqual(declaration("f", keywords_only, 1)["input"]["required"], ["a"])
        self.assertEqual(call_tool(keywords_only, {"a": 1, "b": 2}), 3)

    def test_more_positions_are_a_list_and_more_keywords_are_keywords(self) -> None:
        def positions(first: int, *more: int) -> int:
            return first + sum(more)

        def keywords(*_: Any, **given: Any) -> Any:
            return given

        self.assertEqual(declaration("p", positions, 1)["input"]["properties"]["more"], {"type": "array"})
        self.assertEqual(call_tool(positions, {"first": 1, "more": [2, 3]}), 6)
        self.assertEqual(call_tool(positions, {"first": 1}), 1)
        self.assertEqual(declaration("k", keywords, 1)["input"], {
            "type": "object", "properties": {}, "required": [], "additionalProperties": True,
        })
        self.assertEqual(call_tool(keywords, {"a": 1}), {"a": 1})

    def test_submit_has_the_output_fields_and_checks_no_types(self) -> None:
        made = submit_declaration([{"name": "answer", "type": "str"}, {"name": "score"}])
        self.assertEqual(made["input"]["properties"], {"answer": {}, "score": {}})
        self.assertEqual(made["input"]["required"], ["answer", "score"])
        self.assertIn("answer: str, score", made["description"])
