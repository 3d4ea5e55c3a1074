"""The result and the errors of DSPy's interpreter protocol: DSPy's own classes where it is installed, else equal ones.

>>> FinalOutput({"answer": 1}) == FinalOutput({"answer": 1})
True
>>> issubclass(CodeExecutionError, CodeInterpreterError)
True
"""
from __future__ import annotations

from typing import Any

try:
    from dspy.primitives import code_interpreter as _dspy
except ImportError:
    _dspy = None


class _FinalOutput:
    """The outputs that a program submitted."""

    def __init__(self, output: Any) -> None:
        self.output = output

    def __repr__(self) -> str:
        return "FinalOutput(%r)" % (self.output,)

    def __eq__(self, other: object) -> bool:
        return self.output == other.output if isinstance(other, _FinalOutput) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


class _CodeInterpreterError(RuntimeError):
    """The interpreter cannot continue, or was set up wrongly. Another program would fail too."""


FinalOutput: Any = getattr(_dspy, "FinalOutput", _FinalOutput)
CodeInterpreterError: Any = getattr(_dspy, "CodeInterpreterError", _CodeInterpreterError)


class _CodeExecutionError(CodeInterpreterError):
    """The program failed, and the interpreter is fine: the next program may do better."""


# Older versions of DSPy have one class for both.
CodeExecutionError: Any = getattr(_dspy, "CodeExecutionError", _CodeExecutionError)

if _dspy is None:
    for _own, _name in ((_FinalOutput, "FinalOutput"), (_CodeInterpreterError, "CodeInterpreterError")):
        _own.__name__ = _own.__qualname__ = _name
if CodeExecutionError is _CodeExecutionError:
    _CodeExecutionError.__name__ = _CodeExecutionError.__qualname__ = "CodeExecutionError"
