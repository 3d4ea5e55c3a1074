"""The worker on Pyodide: one thread, no processes. Its supervisor is JavaScript, out of reach of user code."""
from ..shared.pristine import BUILTINS, BUILTINS as __builtins__  # noqa: A001
import asyncio
import builtins
import gc
import io
import os
import random
import signal
import sys
import time

from pyodide.ffi import to_js

from ..prompt import completion  # noqa: F401  part of the memory snapshot, so that the first Tab is fast
from ..shared.lean_json import dumps, loads
from . import snapshot, wasm_asyncio
from .errors import KernelError
from .interpreter import Interpreter
from .program import Program

# Most runs need these: imported here, they are part of the memory snapshot.
import ast, json, linecache, pickle, traceback  # noqa: E401, F401

PIECE = 256 << 10
SLICE_SECONDS = 0.005
kernel = None


class WasmKernel:
    def __init__(self, send, changes, next_answer):
        self.send_to_host = send
        self.changes = changes
        self.next_answer = next_answer
        self.calls = None  # calls to the host, once it exposes functions
        self.running = None
        self.awaiting = None
        self.is_cancelled = False
        self.is_interrupted = False
        self.interpreter = Interpreter(self.send, self.run_coroutine)
        self.streams = os.dup(0), os.dup(1), os.dup(2)

    def send(self, header, body=b""):
        self.send_to_host(dumps(header), to_js(body) if len(body) else None)

    def handle(self, header, body):
        kind = header["t"]
        if kind == "run":
            code = body.to_bytes() if body is not None else b""
            advance(self.run_program(header, code) if "program" in header else self.run(header, code))
        elif kind == "start":
            self.start(header)
        elif kind == "expose":
            self.expose(body.to_bytes())
        else:
            self.request(kind, header, body)

    def start(self, header):
        try:
            os.chdir("/workspace")
            self.prepare()
            self.interpreter.begin(header)
            self.send({"t": "ready"})
        except BaseException as error:
            self.send({"t": "failed", "reason": ("%s: %s" % (type(error).__name__, error))[:2000]})

    def expose(self, body):
        from .wasm_calls import WasmCalls

        if self.calls is None:
            self.calls = WasmCalls(self)
        self.calls.functions.expose(loads(body.decode()))

    async def run_program(self, header, code):
        """A run with a name, arguments or standard input. The host's side passes the input to descriptor 0."""
        self.prepare()
        with Program(self.interpreter.namespace, header["program"]):
            await self.run(header, code)

    async def run(self, header, code):
        run_id, language = header["id"], header["language"]
        self.is_interrupted = False  # an earlier one was for the previous request; the host repeats an unnoticed one
        self.prepare()
        self.is_cancelled = False
        try:
            self.running = run_id
            if self.is_interrupted:
                outcome = {"status": "interrupted"}
            elif language == "python":
                outcome = await self.interpreter.execute(run_id, str(code, "utf-8", "replace"), language)
            else:
                outcome = unavailable(language)
        except KeyboardInterrupt:
            outcome = {"status": "interrupted"}
        finally:
            self.running = None
            self.is_interrupted = False
        self.send(dict(outcome, t="done", id=run_id, **self.changed_files()))

    def changed_files(self):
        """Files written below /workspace since the last run, as tracked by the file system."""
        text = self.changes()
        if not text:
            return {}
        files, is_complete = loads(text)
        return {"files": files, "filesComplete": is_complete}

    async def run_coroutine(self, coroutine):
        """Waits on Pyodide's own event loop, where an interrupt cancels the task."""
        self.awaiting = asyncio.ensure_future(coroutine)
        try:
            return await self.awaiting
        except asyncio.CancelledError:
            if self.is_cancelled:
                raise KeyboardInterrupt from None
            raise
        finally:
            self.awaiting = None

    def cancel(self, run_id):
        if self.running == run_id and self.awaiting is not None:
            self.is_cancelled = True
            self.awaiting.cancel()

    def request(self, kind, header, body):
        reply = {"t": "reply", "id": header["id"], "ok": True}
        self.running = header["id"]
        try:
            if kind == "vars":
                reply["size"] = self.send_data(header["id"], self.interpreter.variables())
            elif kind == "get":
                data = self.interpreter.get(header["expression"], header["format"], header["maxBytes"])
                reply["size"] = self.send_data(header["id"], data)
            elif kind in ("complete", "inspect"):
                reply["size"] = self.send_data(header["id"], self.interpreter.look(kind, header))
            elif kind == "set":
                data = body.to_bytes() if body is not None else b""
                self.interpreter.set(header["name"], header["format"], data)
            elif kind == "snapshot":
                reply["size"] = self.send_snapshot(header["id"], header["maxBytes"], header.get("maxItems"))
            elif kind == "restore":
                failed = self.interpreter.restore(body.to_bytes() if body is not None else b"")
                reply["size"] = self.send_data(header["id"], dumps(failed).encode())
            elif kind == "reset":
                vars(builtins).update(BUILTINS)
                self.interpreter.reset()
                gc.collect()
        except KernelError as error:
            reply.update(ok=False, code=error.code, message=error.message)
        except MemoryError:
            reply.update(ok=False, code="too_large", message="the interpreter is out of memory")
        except BaseException as error:
            reply.update(ok=False, code="expression_failed", message=type(error).__name__)
        finally:
            self.running = None
            self.is_interrupted = False
        self.send(reply)

    def send_data(self, request_id, data):
        view = memoryview(data)
        for at in range(0, len(view), PIECE):
            self.send({"t": "data", "id": request_id}, view[at : at + PIECE])
        return len(view)

    def send_snapshot(self, request_id, most, most_items):
        # Checked before encoding anything: WASM memory only grows and is never returned.
        least = least_bytes(self.interpreter.namespace, most_items)
        if least is None:
            raise KernelError("too_large", "the variables hold more than %d items" % most_items)
        if least > most:
            raise KernelError("too_large", "the variables take more than %d bytes" % most)
        sent, waiting = 0, bytearray()
        for piece in self.interpreter.snapshot():
            sent += len(piece)
            if sent > most:
                raise KernelError("too_large", "the variables take more than %d bytes" % most)
            if len(waiting) + len(piece) > PIECE:
                self.send_data(request_id, waiting)
                waiting = bytearray()
            if len(piece) > PIECE:
                self.send_data(request_id, piece)
            else:
                waiting += piece
        self.send_data(request_id, waiting)
        return sent

    def prepare(self):
        """Undoes what the last run may have done to the streams and the interrupt."""
        os.dup2(self.streams[0], 0)
        for number, name in ((1, "stdout"), (2, "stderr")):
            os.dup2(self.streams[number], number)
            stream = getattr(sys, name, None)
            if getattr(stream, "codecell", None) is not self or stream.closed:
                stream = self.stream(number)
                setattr(sys, name, stream)
                setattr(sys, "__%s__" % name, stream)
        signal.signal(signal.SIGINT, self.interrupt)

    def stream(self, number):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False), 32768)
        stream = Stream(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)
        stream.codecell = self
        return stream

    def interrupt(self, _signal, _frame):
        if self.running is not None:
            self.send({"t": "noticed", "id": self.running})
            raise KeyboardInterrupt
        self.is_interrupted = True  # it arrived before the run started: the run will not start


def least_bytes(namespace, most_items):
    """A lower bound for the size of the variables: text and bytes count in full, containers one byte per item.

    With a limit of items, it looks into containers too and returns None if they hold more: pickling them would take long
    and cannot be interrupted.
    """
    total, items, seen = 0, 0, set()
    waiting = list(namespace.values())
    while waiting:
        value = waiting.pop()
        kind = type(value)
        if kind in (bytes, bytearray, str):
            total += len(value)
        elif kind in (list, tuple, dict, set, frozenset) and id(value) not in seen:
            total += len(value)
            if most_items is None:
                continue
            items += len(value)
            if items > most_items:
                return None
            seen.add(id(value))
            waiting.extend(value.values() if kind is dict else value)
    return total


class Stream(io.TextIOWrapper):
    """A text stream that can carry a mark, so that a replaced stream is noticed."""


def advance(run, _finished=None):
    """Runs a coroutine until it waits, and continues it when that future is done.

    Code without `await` needs no event loop, so it works even if user code has broken asyncio.
    """
    try:
        future = run.send(None)
    except StopIteration:
        return
    future._asyncio_future_blocking = False
    future.add_done_callback(lambda finished: advance(run, finished))


def unavailable(language):
    message = "%s is not available: a WASM cell cannot start processes" % language
    error = {"name": "LanguageUnavailable", "message": message, "traceback": message}
    return {"status": "error", "exitCode": 1, "error": error}


def slice_sleep():
    """Makes time.sleep wait in short slices: Pyodide notices an interrupt only between them."""
    sleep_at_once, monotonic = time.sleep, time.monotonic

    def sleep(seconds, /):
        if seconds < 0:
            raise ValueError("sleep length must be non-negative")
        end = monotonic() + seconds
        while True:
            left = end - monotonic()
            if left <= 0:
                return
            sleep_at_once(left if left < SLICE_SECONDS else SLICE_SECONDS)

    time.sleep = sleep


slice_sleep()
wasm_asyncio.install()
# There are no packages here, and looking for these two takes longer than a whole snapshot.
snapshot.better_pickle = lambda: None


def attach(send, changes, next_answer):
    """Called after every start, also from a memory snapshot. A snapshot contains the random state from when it was made."""
    global kernel
    random.seed()
    kernel = WasmKernel(send, changes, next_answer)
    return "%d.%d.%d" % sys.version_info[:3]


def dispatch(text, body):
    kernel.handle(loads(text), body)


def cancel(run_id):
    kernel.cancel(run_id)
