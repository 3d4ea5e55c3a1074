"""Calls to the host on Pyodide: there are no threads, so the interpreter waits for each answer."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from ..shared.lean_json import loads
from .guest_functions import Answer, GuestFunctions, HostError

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
        answer = Answer()
        while True:
            piece = self.kernel.next_answer()
            if piece is None:
                continue  # nothing arrived in a short time: an interrupt is raised here
            header = loads(piece[0])
            if header["call"] != number:
                continue  # an interrupted call did not wait for it
            whole = answer.add(header, piece[1].to_bytes())
            if whole is not None:
                return whole
