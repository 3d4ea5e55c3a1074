"""The error of a request other than a run."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001


class KernelError(Exception):
    """code: variable_missing | variable_unserializable | expression_failed | too_large"""

    def __init__(self, code, message):
        Exception.__init__(self, message)
        self.code = code
        self.message = message
