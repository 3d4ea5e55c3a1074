import sys
import threading
import unittest

from codecell_kernel.worker import snapshot
from codecell_kernel.worker.tracebacks import Sources


class Snapshots(unittest.TestCase):
    def setUp(self):
        self.sources = Sources()
        self.main = type(sys)("__main__")
        previous = sys.modules["__main__"]
        sys.modules["__main__"] = self.main
        self.addCleanup(sys.modules.__setitem__, "__main__", previous)

    def run_code(self, code):
        self.sources.remember("<run 1>", code)
        exec(compile(code, "<run 1>", "exec"), self.main.__dict__)

    def saved(self):
        parts = list(snapshot.entries(self.main.__dict__, frozenset(("__builtins__",)), self.sources))
        skipped = {header["name"]: header["skipped"] for header, _ in parts if "skipped" in header}
        return b"".join(snapshot.pack(header, body) + bytes(body) for header, body in parts), skipped

    def restored(self, data):
        fresh = type(sys)("__main__")
        sys.modules["__main__"] = fresh
        return fresh.__dict__, snapshot.restore(fresh.__dict__, data, Sources())

    def test_values_functions_classes_and_modules_are_restored(self):
        import linecache  # noqa: F401

        self.run_code(
            "import math\nnumbers = [1, 2.5, 'drei']\ndef area(r):\n    return math.pi * r\n"
            "class Point:\n    def __init__(self, x):\n        self.x = x\npoint = Point(7)"
        )
        data, skipped = self.saved()
        self.assertEqual(skipped, {})
        namespace, failed = self.restored(data)
        self.assertEqual(failed, [])
        self.assertEqual(namespace["numbers"], [1, 2.5, "drei"])
        self.assertAlmostEqual(namespace["area"](2), 6.28318, places=4)
        self.assertEqual(namespace["point"].x, 7)

    def test_a_value_that_cannot_be_saved_is_listed_with_the_reason(self):
        self.main.lock = threading.Lock()
        self.main.good = 1
        data, skipped = self.saved()
        self.assertIn("lock", skipped["lock"])
        namespace, _ = self.restored(data)
        self.assertEqual(namespace["good"], 1)

    def test_a_value_that_raises_while_saving_does_not_affect_the_others(self):
        self.run_code("class Bad:\n    def __reduce__(self): raise SystemExit(3)\nbad = Bad()\ngood = 1")
        data, skipped = self.saved()
        self.assertIn("SystemExit", skipped["bad"])
        self.assertEqual(self.restored(data)[0]["good"], 1)

    def test_a_truncated_snapshot_is_rejected(self):
        self.main.value = "x" * 100
        data, _ = self.saved()
        for length in (1, len(data) // 2, len(data) - 1):
            with self.subTest(length=length), self.assertRaises(ValueError):
                list(snapshot.parse(data[:length]))

    def test_an_entry_that_cannot_be_restored_is_listed(self):
        header = {"name": "broken", "type": "int", "codec": "pickle"}
        _, failed = self.restored(snapshot.pack(header, b"junk") + b"junk")
        self.assertEqual([one["name"] for one in failed], ["broken"])

    def test_a_variable_whose_module_is_missing_stays_in_the_next_snapshot(self):
        header, body = {"name": "table", "type": "module", "codec": "module"}, b"codecell_missing_module"
        waiting = []
        failed = snapshot.restore(self.main.__dict__, snapshot.pack(header, body) + body, self.sources, None, waiting)
        self.assertEqual([one["name"] for one in failed], ["table"])
        self.assertEqual(self.entries(waiting), [(header, body)])
        self.main.table = 1
        self.assertEqual([header["codec"] for header, _ in self.entries(waiting)], ["pickle"])

    def entries(self, waiting):
        return list(snapshot.entries(self.main.__dict__, frozenset(("__builtins__",)), self.sources, None, waiting))


if __name__ == "__main__":
    unittest.main()
