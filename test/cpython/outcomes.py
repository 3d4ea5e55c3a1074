"""Runs modules of CPython's own tests and prints the outcome of each test, one line of JSON per module.

Usage: python3 outcomes.py DIRECTORY SECONDS WORKERS [{"module": "test_os", "without": ["part of an id"]}, ...]

DIRECTORY holds the package `test`. Each module has a process of its own, which is killed after SECONDS.
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import unittest

DESCRIPTORS = 1024  # the same everywhere: some tests use all of them


class Outcomes(unittest.TestResult):
    """Writes each outcome to a file at once, so that a crash or a hang loses nothing."""

    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w")

    def save(self, *entry):
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()

    def note(self, test, outcome, detail=""):
        self.save("outcome", test.id(), outcome, detail)

    def fail(self, test, error):
        self.note(test, "failed", "%s: %s" % (error[0].__name__, str(error[1]).strip().split("\n")[0][:200]))

    def startTest(self, test):
        super().startTest(test)
        self.save("running", test.id())

    def addSuccess(self, test):
        self.note(test, "ok")

    def addSkip(self, test, reason):
        self.note(test, "skipped", str(reason)[:200])

    def addExpectedFailure(self, test, error):
        self.note(test, "ok")

    def addUnexpectedSuccess(self, test):
        self.note(test, "failed", "succeeded against expectation")

    def addSubTest(self, test, subtest, error):
        if error is not None:
            self.fail(test, error)

    addFailure = addError = fail


def run_module(module, without, path):
    from test import support

    support.use_resources = []  # no Internet, no gigabytes on disk, no minutes of computing
    support.verbose = False
    outcomes = Outcomes(path)

    def wanted(suite):
        for one in suite:
            if isinstance(one, unittest.TestSuite):
                yield from wanted(one)
            elif not any(part in one.id() for part in without):
                yield one

    loaded = unittest.defaultTestLoader.loadTestsFromName("test." + module)
    unittest.TestSuite(wanted(loaded)).run(outcomes)
    outcomes.save("ended")


def run_apart(directory, seconds, task):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        inner, path = os.path.join(scratch, "cwd"), os.path.join(scratch, "outcomes")
        os.mkdir(inner)
        child = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "--module", json.dumps(task), path],
            cwd=inner,
            env={**os.environ, "PYTHONPATH": directory, "TMPDIR": inner},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            ending = "exit code %d" % child.wait(seconds)
        except subprocess.TimeoutExpired:
            ending = "still running after %d s" % seconds
            os.killpg(child.pid, 9)
            child.wait()
        return {"module": task["module"], "tests": collect(path, task["module"], ending)}


def collect(path, module, ending):
    """The outcome of each test. One that did not end has failed, and so has one with a failed sub-test or cleanup."""
    tests, running = {}, module
    if os.path.exists(path):
        with open(path) as file:
            for kind, *entry in map(json.loads, file):
                if kind == "outcome" and tests.get(entry[0], [""])[0] != "failed":
                    tests[entry[0]] = entry[1:]
                elif kind != "outcome":
                    running = entry[0] if kind == "running" else None
    if running is not None:
        tests[running] = ["failed", ending]
    return tests


def main(directory, seconds, workers, tasks):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = DESCRIPTORS if most == resource.RLIM_INFINITY else min(DESCRIPTORS, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    tasks, lock = json.loads(tasks), threading.Lock()

    def work():
        while True:
            with lock:
                if not tasks:
                    return
                task = tasks.pop(0)
            result = run_apart(directory, float(seconds), task)
            with lock:
                print(json.dumps(result), flush=True)

    threads = [threading.Thread(target=work) for _ in range(int(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    if sys.argv[1] == "--module":
        sys.path.pop(0)  # the directory of this script
        one = json.loads(sys.argv[2])
        run_module(one["module"], one["without"], sys.argv[3])
    else:
        main(*sys.argv[1:])
