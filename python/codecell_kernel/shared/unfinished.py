"""Names of files that are still being written: neither listings nor results show them."""
from .pristine import BUILTINS as __builtins__  # noqa: A001

START, END, RANDOM_BYTES = ".codecell-", ".part", 16
SIZE = len(START) + 2 * RANDOM_BYTES + len(END)


def is_unfinished(name):
    """The host uses the same names for what it writes into a directory of its own."""
    return len(name) == SIZE and name.startswith(START) and name.endswith(END)
