"""Signals sent by Python code are sent again if another signal interrupts the check of the kill guard.

The guard's check makes `kill()` fail with EINTR if a signal with a handler arrives before the supervisor has seen the call. The
signal is not sent then. Outside a cell, `kill()` never fails with EINTR, so no program expects it.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
import sys

import _signal


def send_again_if_interrupted():
    for module, user, name, wrap in (
        (posix, "os", "kill", with_target),
        (posix, "os", "killpg", with_target),
        (_signal, "signal", "pthread_kill", with_target),
        (_signal, "signal", "raise_signal", without_target),
    ):
        original = getattr(module, name)
        call = wrap(original)
        call.__module__ = module.__name__
        call.__name__ = call.__qualname__ = name
        call.__doc__ = original.__doc__
        for one in (module, sys.modules.get(user)):  # a template may have imported the second one already
            if getattr(one, name, None) is original:
                setattr(one, name, call)


def with_target(original):
    def call(target, signal, /):
        while True:
            try:
                return original(target, signal)
            except InterruptedError:
                continue

    return call


def without_target(original):
    def call(signal, /):
        while True:
            try:
                return original(signal)
            except InterruptedError:
                continue

    return call
