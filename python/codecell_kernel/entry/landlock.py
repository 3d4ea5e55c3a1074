"""Landlock: a process gives up its right to open files, for itself and all its descendants."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix
from _struct import pack

import _ctypes

from ..shared.system import symbol

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same on every architecture
PATH_BENEATH = 1
EXECUTE, READ_FILE, READ_DIRECTORY = 1, 4, 8
OPENING = EXECUTE | READ_FILE | READ_DIRECTORY


def open_below(directories):
    """From here on only files below these directories can be opened or listed. False if Linux does not support it."""
    call = symbol("syscall")
    ruleset = _ctypes.call_function(call, (CREATE_RULESET, pack("<Q", OPENING), 8, 0))
    if ruleset < 0:
        return False
    for path in directories:
        directory = posix.open(path, posix.O_PATH | posix.O_CLOEXEC)
        rule = pack("<Qi", OPENING, directory)
        if _ctypes.call_function(call, (ADD_RULE, ruleset, PATH_BENEATH, rule, 0)) < 0:
            raise OSError("Landlock rejected the rule for %s" % path)
        posix.close(directory)
    is_restricted = _ctypes.call_function(call, (RESTRICT_SELF, ruleset, 0)) == 0
    posix.close(ruleset)
    return is_restricted


def directories_in(root):
    """Paths of the directories in it, without symlinks."""
    with posix.scandir(root) as entries:
        return [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
