"""Calls to the host on Pyodide: there are no threads, so the interpreter waits for each answer."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from ..shared.lean_json import loads
from .guest_functions import GuestFunctions, HostError, failure

PIECE = 256 << 10
MAX_ARGUMENT_BYTES = 16 << 20


class WasmCalls:
    def __init__(self, kernel):
        self.kernel = kernel
        self.functions = GuestFunctions(self.call, lambda: kernel.interpreter.namespace)
        self.latest = 0

    def call(self, name, data, _inputs):
        """The answer as bytes. Raises HostError."""
        if len(data) > MAX_ARGUMENT_BYTES:
            raise HostError("the arguments take %d bytes; the limit is %d" % (len(data), MAX_ARGUMENT_BYTES))
        if self.kernel.running is None:
            raise HostError("the host can be called only while a run is active")
        self.latest += 1
        number, view = self.latest, memoryview(data)
        header = {"t": "call", "id": self.kernel.running, "call": number}
        self.kernel.send(dict(header, name=name, size=len(view)), view[:PIECE])
        for at in range(PIECE, len(view), PIECE):
            self.kernel.send(header, view[at : at + PIECE])
        try:
            return self.answer(number)
        except HostError:
            raise
        except BaseException:
            self.kernel.send({"t": "call.drop", "id": header["id"], "call": number})  # nobody waits any more
            raise

    def answer(self, number):
        missing, pieces = None, []
        while True:
            answer = self.kernel.next_answer()
            if answer is None:
                continue  # nothing arrived in a short time: an interrupt is raised here
            header, body = loads(answer[0]), answer[1].to_bytes()
            if header["call"] != number:
                continue  # an interrupted call did not wait for it
            if missing is None:
                if not header["ok"]:
                    raise failure(header["error"])
                missing = header["size"]
            pieces.append(body)
            missing -= len(body)
            if missing <= 0:
                return b"".join(pieces)
