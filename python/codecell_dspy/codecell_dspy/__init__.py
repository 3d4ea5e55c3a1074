"""DSPy's code interpreter on codecell: `dspy.RLM(signature, interpreter_factory=CodecellFactory())`."""
from __future__ import annotations

from .factory import CodecellFactory
from .interpreter import CodecellInterpreter
from .protocol import CodeExecutionError, CodeInterpreterError, FinalOutput

__all__ = ["CodeExecutionError", "CodeInterpreterError", "CodecellFactory", "CodecellInterpreter", "FinalOutput"]
