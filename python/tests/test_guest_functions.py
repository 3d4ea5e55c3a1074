import builtins
import inspect
import json
import unittest

from codecell_kernel.worker.guest_functions import GuestFunctions, HostError, LmFailure, failure


def spec(name="lookup", **more):
    word = {"name": "word", "hint": "str", "required": True}
    limit = {"name": "limit", "hint": "int", "required": False, "default": 3}
    rest = {"name": "extra", "hint": "Any", "required": False}
    return dict({"name": name, "description": "Looks a word up.", "parameters": [word, limit, rest], "returns": "Any"}, **more)


class Functions(unittest.TestCase):
    def setUp(self):
        self.asked = []
        self.answer = b"null"
        self.namespace = {"rows": [1], "_hidden": 2}
        self.functions = GuestFunctions(self.call, lambda: self.namespace)
        self.addCleanup(self.functions.expose, [])

    def call(self, name, data, inputs):
        self.asked.append((name, json.loads(data), inputs))
        return self.answer

    def test_arguments_reach_the_host_as_json_and_omitted_ones_do_not(self):
        self.functions.expose([spec()])
        self.answer = b'{"found": [1, null]}'
        self.assertEqual(builtins.lookup("a", extra={1, 1}), {"found": [1, None]})
        self.assertEqual(self.asked, [("lookup", {"word": "a", "limit": 3, "extra": [1]}, None)])
        self.assertEqual(str(inspect.signature(builtins.lookup)), "(word: 'str', limit: 'int' = 3, extra: 'Any' = ...) -> 'Any'")

    def test_a_function_that_is_no_longer_exposed_is_gone_and_a_name_that_the_program_replaced_stays(self):
        self.functions.expose([spec(), spec("other")])
        builtins.other = mine = object()
        self.addCleanup(delattr, builtins, "other")
        self.functions.expose([])
        self.assertFalse(hasattr(builtins, "lookup"))
        self.assertIs(builtins.other, mine)

    def test_a_builtin_is_never_replaced(self):
        self.functions.expose([spec("print"), spec("a b"), spec("class")])
        self.assertEqual(self.functions.exposed, {})
        self.assertIs(print, builtins.print)

    def test_hostile_text_in_a_description_or_default_stays_text(self):
        hostile = '"""\nimport os\n'
        parameter = {"name": "word", "hint": hostile, "required": False, "default": hostile}
        self.functions.expose([spec(description=hostile, parameters=[parameter], returns=hostile)])
        builtins.lookup()
        self.assertEqual(self.asked[0][1], {"word": hostile})
        self.assertEqual(builtins.lookup.__doc__, hostile)

    def test_numbers_that_json_cannot_hold_are_refused_before_anything_is_sent(self):
        self.functions.expose([spec()])
        with self.assertRaises(ValueError):
            builtins.lookup(float("nan"))
        self.assertEqual(self.asked, [])

    def test_submit_ends_the_run_only_after_the_host_has_accepted_it(self):
        self.functions.expose([spec("SUBMIT", kind="submit")])
        with self.assertRaises(SystemExit) as ended:
            builtins.SUBMIT("a")
        self.assertEqual(ended.exception.code, 0)
        self.functions.call = self.refuse
        with self.assertRaises(HostError):
            builtins.SUBMIT("a")

    def refuse(self, *_):
        raise failure({"type": "ValueError", "message": "score: expected a number"})

    def test_an_error_of_the_host_can_be_caught_by_its_python_name_and_keeps_its_type(self):
        for raised, kind in ((failure({"type": "ValueError", "message": "m"}), ValueError), (failure({"type": "quota", "message": "m"}), HostError)):
            self.assertIsInstance(raised, kind)
            self.assertIsInstance(raised, HostError)
        self.assertEqual(raised.type, "quota")

    def test_failed_model_calls_are_marked_text(self):
        self.functions.expose([spec(answers="model")])
        self.answer = b'[{"text": "yes"}, {"error": "rate limit"}]'
        good, bad = builtins.lookup("a")
        self.assertEqual((good, bad), ("yes", "[ERROR] rate limit"))
        self.assertEqual((getattr(good, "ok", True), bad.ok, type(bad)), (True, False, LmFailure))

    def test_the_inputs_of_a_sub_agent_stay_in_the_cell(self):
        rest = {"name": "inputs", "hint": "Any", "required": False, "rest": True}
        signature = {"name": "signature", "hint": "str", "required": True}
        self.functions.expose([spec("rlm_query", kind="fork", parameters=[signature, rest])])
        docs = object()
        builtins.rlm_query("docs -> answer", docs=docs)
        self.assertEqual(self.asked, [("rlm_query", {"signature": "docs -> answer", "items": [["docs"]]}, [{"docs": docs}])])

    def test_other_keyword_arguments_are_sent_like_the_named_ones(self):
        word, rest = {"name": "word", "hint": "str", "required": True}, {"name": "kwargs", "hint": "Any", "rest": True}
        self.functions.expose([spec(parameters=[word, rest])])
        builtins.lookup("a", b=2)
        builtins.lookup("a")
        self.assertEqual([arguments for _, arguments, _ in self.asked], [{"word": "a", "b": 2}, {"word": "a"}])

    def test_show_vars_needs_no_host(self):
        self.functions.expose([spec("SHOW_VARS", kind="show_vars", parameters=[])])
        self.assertEqual(builtins.SHOW_VARS(), {"rows": "list"})
        self.assertEqual(self.asked, [])


if __name__ == "__main__":
    unittest.main()
