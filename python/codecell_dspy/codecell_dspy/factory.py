"""A factory for `dspy.RLM(…, interpreter_factory=…)` that keeps its server between calls."""
from __future__ import annotations

import threading
from typing import Any, Optional

from .interpreter import INSTRUCTIONS, CodecellInterpreter
from .local_server import LocalServer, acquire, release


class CodecellFactory:
    """Takes the arguments of CodecellInterpreter. Each call makes a new one, from any thread.

    DSPy makes an interpreter for every call of a module. Without a factory that holds it, the local server would start and stop
    with each of them. It stops at `close()`, or when this process exits.
    """

    def __init__(self, *arguments: Any, execution_instructions: str = INSTRUCTIONS, **options: Any) -> None:
        self.execution_instructions = execution_instructions
        self._arguments = arguments
        self._options = options
        self._server: Optional[LocalServer] = None
        self._guard = threading.Lock()

    def __call__(self) -> CodecellInterpreter:
        interpreter = CodecellInterpreter(*self._arguments, **self._options)
        if interpreter._remote is None:
            with self._guard:
                if self._server is None or not self._server.is_running:
                    self._drop()
                    self._server = acquire(*interpreter._local)
        return interpreter

    def close(self) -> None:
        """Stops the server when its last interpreter is shut down."""
        with self._guard:
            self._drop()

    def __enter__(self) -> "CodecellFactory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _drop(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            release(server)
