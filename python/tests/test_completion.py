import os
import sys
import tempfile
import unittest
from unittest import mock

from codecell_kernel.prompt import completion
from codecell_kernel.prompt.completion import MOST_MATCHES, complete
from codecell_kernel.prompt.inspection import inspect_name
from codecell_kernel.prompt.timing import UsageError, call_for, parse, summary
from codecell_kernel.worker.tracebacks import Sources

RAN = []


class Hostile(dict):
    plain = 1

    def __init__(self):
        self.own_name = 2

    def __getattribute__(self, name):
        RAN.append(name)
        raise RuntimeError(name)

    def __dir__(self):
        RAN.append("__dir__")
        while True:
            pass

    @property
    def computed(self):
        """What it is for."""
        RAN.append("computed")

    def method(self, first, second=2):
        """Adds."""


class OddMeta(type):
    def __eq__(cls, other):
        RAN.append("__eq__")
        return True

    __hash__ = type.__hash__

    @property
    def __dict__(cls):
        RAN.append("__dict__")

    def mro(cls):
        return type.mro(cls)


class Odd(metaclass=OddMeta):
    __slots__ = ("slot",)
    item = 1

    @classmethod
    def made(cls, size):
        pass


class Liar:
    @property
    def __class__(self):
        RAN.append("__class__")
        return type

    @property
    def __dict__(self):
        RAN.append("__dict__")
        return {}


def texts(kind, path, prefix="", **namespace):
    return [one["text"] for one in complete(namespace, kind, path, prefix)["matches"]]


class CompletionTest(unittest.TestCase):
    def setUp(self):
        RAN.clear()

    def tearDown(self):
        self.assertEqual(RAN, [], "code of the session ran")

    def test_names_come_from_the_namespace_and_the_builtins(self):
        self.assertEqual(texts("names", [], "pri", price=1, other=2), ["price", "print"])

    def test_names_with_an_underscore_need_one_typed(self):
        self.assertEqual(texts("names", [], "", _hidden=1, shown=2)[-1:], ["zip"])
        self.assertNotIn("_hidden", texts("names", [], "", _hidden=1))
        self.assertIn("_hidden", texts("names", [], "_h", _hidden=1))

    def test_attributes_are_found_without_running_code_of_the_object(self):
        found = texts("attributes", ["x"], "", x=Hostile())
        self.assertLessEqual({"plain", "own_name", "computed", "method", "items"}, set(found))

    def test_attributes_are_found_behind_a_metaclass_that_lies(self):
        self.assertEqual(texts("attributes", ["x"], "", x=Odd), ["item", "made", "slot"])
        self.assertEqual(texts("attributes", ["x"], "", x=Odd()), ["item", "made", "slot"])

    def test_an_object_that_lies_about_its_class_runs_nothing(self):
        self.assertEqual(texts("attributes", ["x"], "", x=Liar()), [])

    def test_a_property_is_not_evaluated_to_complete_what_follows_it(self):
        self.assertEqual(texts("attributes", ["x", "computed"], "", x=Hostile()), [])

    def test_attributes_of_modules_and_of_what_they_hold(self):
        self.assertEqual(texts("attributes", ["os", "path"], "isab", os=os), ["isabs"])

    def test_kinds_say_what_a_name_is(self):
        found = complete({"x": Hostile(), "os": os, "H": Hostile}, "names", [], "")["matches"]
        kinds = {one["text"]: one["kind"] for one in found}
        self.assertEqual([kinds[name] for name in ("x", "os", "H", "len")], ["value", "module", "class", "function"])
        found = complete({"x": Hostile()}, "attributes", ["x"], "comp")["matches"]
        self.assertEqual(found, [{"text": "computed", "kind": "property"}])

    def test_keys_of_plain_dictionaries_only(self):
        self.assertEqual(texts("keys", ["d"], "a", d={"ab": 1, "a'": 2, 3: 4, "a\n": 5, "b": 6}), ["ab"])
        self.assertEqual(texts("keys", ["d"], "", d=Hostile()), [])

    def test_what_is_found_is_bounded_in_number(self):
        with mock.patch.object(completion, "monotonic", lambda: 0.0):
            answer = complete({"name%d" % number: 1 for number in range(MOST_MATCHES + 5)}, "names", [], "name")
        self.assertEqual((len(answer["matches"]), answer["truncated"]), (MOST_MATCHES, True))

    def test_a_search_ends_when_its_time_is_over(self):
        times = iter((0.0, completion.BUDGET_SECONDS / 2, completion.BUDGET_SECONDS * 2))
        with mock.patch.object(completion, "monotonic", lambda: next(times)):  # a look at the clock after the end raises
            answer = complete({"name%d" % number: number for number in range(100_000)}, "names", [], "name99999")
        self.assertEqual((answer["matches"], answer["truncated"]), ([], True))

    def test_files_of_a_directory(self):
        with tempfile.TemporaryDirectory() as place:
            os.mkdir(place + "/data")
            for name in ("day.csv", "bad\x1b[31m"):
                open(place + "/" + name, "w").close()
            self.assertEqual(texts("files", [place + "/"], "da"), ["data/", "day.csv"])
            self.assertEqual(texts("files", [place + "/"], "bad"), [])
            self.assertEqual(texts("files", [place + "/missing\0"], ""), [])

    def test_modules_are_named_and_not_imported(self):
        sys.modules.pop("this", None)
        self.assertIn("this", texts("modules", [], "th"))
        self.assertNotIn("this", sys.modules)
        self.assertIn("etree", texts("modules", ["xml"], "e"))
        self.assertEqual(texts("modules", ["os"], "pa"), ["path"])
        self.assertIn("getcwd", texts("members", ["os"], "getc"))
        self.assertEqual(texts("modules", ["no_such"], ""), [])
        self.assertEqual(texts("modules", [], "codecell_k"), [])


class InspectionTest(unittest.TestCase):
    def setUp(self):
        RAN.clear()

    def inspect(self, path, wants_source=False, **namespace):
        return inspect_name(namespace, Sources(), path, wants_source)

    def test_a_function_has_its_signature_and_docstring(self):
        facts = self.inspect(["x", "method"], x=Hostile())
        self.assertEqual((facts["signature"], facts["doc"]), ("method(first, second=2)", "Adds."))

    def test_a_property_is_described_and_not_evaluated(self):
        self.assertEqual(self.inspect(["x", "computed"], x=Hostile())["doc"], "What it is for.")
        self.assertNotIn("computed", RAN)

    def test_a_class_method_is_bound(self):
        self.assertEqual(self.inspect(["x", "made"], x=Odd)["signature"], "made(size)")

    def test_a_value_has_its_type_and_its_repr(self):
        facts = self.inspect(["x"], x=[1, 2])
        self.assertEqual((facts["type"], facts["value"], facts["length"]), ("list", "[1, 2]", "2"))

    def test_a_name_that_does_not_exist_has_no_answer(self):
        self.assertIsNone(self.inspect(["x"]))
        self.assertIsNone(self.inspect(["x", "y"], x=1))

    def test_a_value_whose_code_fails_is_described_without_what_failed(self):
        self.assertEqual(self.inspect(["x"], x=Hostile())["name"], "x")

    def test_long_text_is_truncated(self):
        def f():
            pass

        f.__doc__ = "x" * 100_000
        facts = self.inspect(["f"], f=f)
        self.assertEqual((len(facts["doc"]), facts["truncated"]), (20_000, True))

    def test_the_source_of_a_function(self):
        self.assertIn("def texts(kind", self.inspect(["f"], True, f=texts)["source"])
        self.assertNotIn("source", self.inspect(["f"], False, f=texts))
        self.assertNotIn("source", self.inspect(["f"], True, f=len))


class TimingTest(unittest.TestCase):
    def test_only_a_run_that_starts_with_timeit_is_measured(self):
        self.assertIsNone(call_for("%timeitx"))
        self.assertIsNone(call_for("%time x"))
        self.assertIn("' 1 + 1'", call_for("%timeit 1 + 1\n"))

    def test_options_come_before_the_statement(self):
        self.assertEqual(parse(" -n 10 -r3 f(-n)"), ("f(-n)", 10, 3))
        self.assertEqual(parse("x"), ("x", None, 7))
        for text in ("", "-n", "-n x", "-r 0 x", "-n 5"):
            with self.assertRaises(UsageError):
                parse(text)

    def test_the_summary_reads_as_in_ipython(self):
        self.assertEqual(
            summary([0.00012, 0.00014], 10000), "130 μs ± 10 μs per loop (mean ± std. dev. of 2 runs, 10,000 loops each)"
        )
        self.assertEqual(summary([2.0], 1), "2 s ± 0 ns per loop (mean ± std. dev. of 1 run, 1 loop each)")
