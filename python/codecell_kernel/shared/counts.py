"""Numbers as the host takes them. A file has the size and the time that a program gives it. The attack: a time before 1970 is below
zero, so that the message about it is refused, and the session is lost with it.
"""
from .pristine import BUILTINS as __builtins__  # noqa: A001

MOST = (1 << 53) - 1  # the host's numbers are exact up to here


def count_of(number):
    return min(max(0, number), MOST)


def milliseconds_of(nanoseconds):
    return count_of(nanoseconds // 1_000_000)
