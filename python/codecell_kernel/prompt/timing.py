"""`%timeit`: measures one statement, and prints what IPython prints."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001

USAGE = "usage: %timeit [-n LOOPS] [-r REPEATS] STATEMENT"
REPEATS = 7
LONG_ENOUGH = 0.2  # seconds of one measurement, as in IPython
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "μs"), (1e-9, "ns"))


class UsageError(Exception):
    """What was typed after %timeit is not understood."""

    __module__ = "builtins"  # a traceback prints it without the kernel's name


def call_for(code):
    """Python for a run that starts with %timeit, or None if it starts with anything else."""
    text = code.strip()
    if not text.startswith("%timeit") or text[7:8].strip():
        return None
    return "__import__(%r, fromlist=['timeit']).timeit(%r, globals())" % (__name__, text[7:])


def timeit(text, namespace):
    statement, loops, repeats = parse(text)
    code = compile(source_of(statement), "<timeit>", "exec")
    made = {}
    exec(code, namespace, made)
    measure = made["measure"]
    import gc

    collects = gc.isenabled()
    gc.disable()  # a collection would be counted to whichever loop it happens in
    try:
        if loops is None:
            loops = enough_loops(measure)
        seconds = [measure(loops) / loops for _ in range(repeats)]
    finally:
        if collects:
            gc.enable()
    print(summary(seconds, loops))


def parse(text):
    """(statement, loops or None, repeats)"""
    values = {"-n": None, "-r": REPEATS}
    rest = text.strip()
    while rest[:2] in values:
        option, after = rest[:2], rest[2:].lstrip()
        number, _, rest = after.partition(" ")
        if not number.isdigit() or int(number) < 1:
            raise UsageError("%s needs a whole number from 1; %s" % (option, USAGE))
        values[option] = int(number)
        rest = rest.strip()
    if not rest:
        raise UsageError(USAGE)
    return rest, values["-n"], values["-r"]


def source_of(statement):
    """One function around the statement: a call per loop would be a part of what is measured."""
    compile(statement, "<timeit>", "exec")  # its own syntax errors, in its own words
    return (
        "def measure(_loops):\n"
        "    from time import perf_counter as _now\n"
        "    _loops = [None] * _loops if _loops < 1000 else range(_loops)\n"
        "    _began = _now()\n"
        "    for _ in _loops:\n"
        "        %s\n"
        "    return _now() - _began\n" % statement
    )


def enough_loops(measure):
    loops = 1
    while measure(loops) < LONG_ENOUGH:
        loops *= 10
    return loops


def summary(seconds, loops):
    mean = sum(seconds) / len(seconds)
    spread = (sum((one - mean) ** 2 for one in seconds) / len(seconds)) ** 0.5
    runs = "run" if len(seconds) == 1 else "runs"
    each = "loop" if loops == 1 else "loops"
    return "%s ± %s per loop (mean ± std. dev. of %d %s, %s %s each)" % (
        duration(mean),
        duration(spread),
        len(seconds),
        runs,
        format(loops, ","),
        each,
    )


def duration(seconds):
    for size, unit in UNITS:
        if seconds >= size or unit == "ns":
            return "%.3g %s" % (seconds / size, unit)
