"""Limits the time and size of a snapshot. Each value gets a share, so that one value cannot use up everything."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
from time import monotonic

import _signal

SHARE = 4  # a value may take 1/SHARE of the whole time


class TooSlow(BaseException):
    """Not an Exception: user code that catches those would never stop."""


class Allowance:
    def __init__(self, seconds, most_bytes, most_value_bytes):
        self.end = monotonic() + seconds * (SHARE - 1) / SHARE  # the rest is a reserve for code that cannot be interrupted
        self.share = seconds / SHARE
        self.left_bytes = most_bytes
        self.most_value_bytes = most_value_bytes
        self.is_armed = False

    def check_size(self, size):
        most = min(self.left_bytes, self.most_value_bytes)
        if size > most:
            raise ValueError("it takes %d bytes, but only %d are left" % (size, most))

    def spend(self, size):
        self.left_bytes -= size

    def call(self, work, *args):
        """Calls work(*args) and interrupts it when its share of the time is over. Then restores a timer of user code."""
        seconds = min(self.share, self.end - monotonic())
        if seconds <= 0:
            raise TooSlow("there was no time left for it")
        handler = _signal.signal(_signal.SIGALRM, self.on_alarm)
        began = monotonic()
        self.is_armed = True
        waiting, interval = _signal.setitimer(_signal.ITIMER_REAL, seconds)
        try:
            return work(*args)
        finally:
            self.is_armed = False
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            _signal.signal(_signal.SIGALRM, handler if handler is not None else _signal.SIG_DFL)
            if waiting:
                _signal.setitimer(_signal.ITIMER_REAL, max(0.001, waiting - (monotonic() - began)), interval)

    def on_alarm(self, _number, _frame):
        if self.is_armed:
            self.is_armed = False
            raise TooSlow("it exceeded the time limit for one value")
