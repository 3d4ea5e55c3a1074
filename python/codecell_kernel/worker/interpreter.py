"""One Python session: its namespace, its runs, its variables. Independent of the transport."""
from ..shared.pristine import BUILTINS as __builtins__, restored  # noqa: A001
import builtins
import posix
import sys

from ..shared.frames import REHEARSAL
from ..shared.lean_json import dumps
from . import snapshot, variables
from .displays import FIGURES, MAX_TEXT, Displays, text_of
from .errors import KernelError
from .tracebacks import Sources, class_name, describe

ONLY_AST = 0x400
TOP_LEVEL_AWAIT = 0x2000
IS_COROUTINE = 0x80
PACKAGES = __name__.rpartition(".")[0] + ".guest_packages"  # loaded only where programs may install
SHOWN = "displayhook shows the value of the statement"
LONGEST_SIMPLE = 400
NO_INPUT = "input() has no terminal here: pipe the input, pass a variable or write the value into the code"


def no_input(prompt="", /):
    raise EOFError(NO_INPUT)


def exit_run(code=None, /):
    """Ends the run, as `exit()` ends a program. The kernel does not load `site`, which defines it elsewhere."""
    raise SystemExit(code)


def show_help(*request):
    from pydoc import help

    return help(*request)


def is_one_simple_statement(code):
    """Never true by mistake: a compound statement has a colon, a second statement has a semicolon or its own line, and a
    comment has a hash. May be false for a simple statement.
    """
    return len(code) <= LONGEST_SIMPLE and not any(map(code.__contains__, "\n\r;:#")) and not (code[:1].isspace() or not code)


def import_modules(names):
    """Imports the modules of `kernel.preload`. The host recognizes the message of a missing one (preload-failure.ts)."""
    for name in names:
        try:
            __import__(name)
        except ImportError as error:
            raise ImportError("kernel.preload: %s cannot be imported: %s" % (name, error)) from None


class Interpreter:
    def __init__(self, emit, run_coroutine):
        """emit(header, body) sends one message. run_coroutine(coroutine) returns an awaitable of its value."""
        self.run_coroutine = run_coroutine
        self.displays = Displays(emit)
        self.sources = Sources()
        self.waiting = []  # saved variables that need a module which this cell lacks
        self.user_code = False
        self.interrupt_pending = False
        self.install()

    def install(self):
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        builtins.display = self.displays.show
        builtins.input = no_input
        if not hasattr(builtins, "exit"):
            builtins.exit = builtins.quit = exit_run
            builtins.help = show_help
        self.namespace = main.__dict__
        self.namespace["__builtins__"] = builtins
        self.hidden = frozenset(self.namespace)

    def begin(self, config):
        """Sets environment variables and import path and preloads modules, as the host's `start` message says."""
        set_environment({**config.get("env", {}), "MPLBACKEND": "module://" + FIGURES})
        for entry in config.get("path", ()):
            if entry not in sys.path:
                sys.path.append(entry)
        import_modules(config.get("preload", ()))

    async def execute(self, run_id, code, language="python"):
        """Runs code and returns how it ended. A failing program is a result: nothing is raised."""
        self.displays.begin(run_id)
        packages = sys.modules.get(PACKAGES)
        if packages is not None:
            packages.refresh()
        try:
            outcome = await self.run_python("<run %d>" % run_id, code)
        except KeyboardInterrupt:
            outcome = {"status": "interrupted"}
        except BaseException as error:
            outcome = {"status": "error", "exitCode": 1, "error": describe(error, self.sources)}
        finally:
            self.user_code = False
        self.flush()
        return outcome

    def take_interrupts(self):
        """From here on an interrupt raises, until `user_code` is false again. So does one that arrived earlier."""
        self.user_code = True
        if self.interrupt_pending:
            self.interrupt_pending = False
            raise KeyboardInterrupt

    @property
    def is_rehearsal(self):
        return self.displays.run_id == REHEARSAL

    async def run_python(self, filename, code):
        if not self.is_rehearsal:
            self.sources.remember(filename, code)
        try:
            body, last = self.compile(filename, code)
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
            error.__traceback__ = None
            return {"status": "error", "exitCode": 1, "error": describe(error, self.sources)}
        try:
            self.take_interrupts()
            value = None
            if last is SHOWN:
                value = await self.evaluate_shown(body)
            else:
                if body is not None:
                    await self.evaluate(body)
                if last is not None:
                    value = await self.evaluate(last)
            return self.outcome(value)
        except SystemExit as error:
            self.flush_figures()
            return self.exited(error.code)
        except KeyboardInterrupt as error:
            self.flush_figures(is_stopped=True)
            return dict({"status": "interrupted"}, **stopped_at(error, filename))
        except BaseException as error:
            if type(error).__name__ == "CancelledError" and not isinstance(error, Exception):
                self.flush_figures(is_stopped=True)
                return {"status": "interrupted"}
            failed = {"status": "error", "exitCode": 1, "error": describe(error, self.sources)}
            self.flush_figures()
            return failed
        finally:
            self.user_code = False

    def flush_figures(self, is_stopped=False):
        """After a run that did not reach its end. A figure that stayed open would appear in a later run."""
        figures = sys.modules.get(FIGURES)
        if figures is not None:
            try:
                figures.flush_failed(is_stopped)
            except BaseException:
                pass  # drawing may be what failed, and it may be interrupted

    def compile(self, filename, code):
        """(body, last): everything but the last expression, and the last expression, whose value is the run's result.

        Finding it needs a syntax tree and a second compilation, which is half of the time of a short run. A single simple
        statement needs neither: compiled as interactive code, it passes its value to displayhook. Then `last` is `SHOWN`.
        """
        if code[:1] == "%":
            from ..prompt.timing import call_for

            code = call_for(code) or code
        if is_one_simple_statement(code):
            try:
                return compile(code, filename, "single", TOP_LEVEL_AWAIT), SHOWN
            except SyntaxError:
                pass  # the full parser reports a better position
        try:
            tree = compile(code, filename, "exec", ONLY_AST | TOP_LEVEL_AWAIT)
        except SyntaxError:
            code = self.with_installs(filename, code)
            if code is None:
                raise
            tree = compile(code, filename, "exec", ONLY_AST | TOP_LEVEL_AWAIT)
        last = None
        if tree.body and type(tree.body[-1]).__name__ == "Expr":
            import _ast

            last = compile(_ast.Expression(tree.body.pop().value), filename, "eval", TOP_LEVEL_AWAIT)
        body = compile(tree, filename, "exec", TOP_LEVEL_AWAIT) if tree.body else None
        return body, last

    def with_installs(self, filename, code):
        """The code with its `%pip install` lines as calls; None: it has none, or the host offers no installs."""
        if "install" not in code or not hasattr(sys.modules.get("codecell_host"), "pip_install"):
            return None
        from .guest_packages import translated

        def problem(text):
            try:
                compile(text, filename, "exec", ONLY_AST | TOP_LEVEL_AWAIT)
            except SyntaxError as error:
                return error

        with restored():
            return translated(code, problem)

    async def evaluate_shown(self, code):
        values = []
        keep, before = values.append, sys.displayhook
        sys.displayhook = keep
        try:
            if code.co_flags & IS_COROUTINE:
                await self.run_coroutine(eval(code, self.namespace))
            else:
                eval(code, self.namespace)  # not through `evaluate`: one coroutine less for most runs
        finally:
            if sys.displayhook is keep:  # unless the statement itself replaced it
                sys.displayhook = before
        return values[0] if values else None

    async def evaluate(self, code):
        if code.co_flags & IS_COROUTINE:
            return await self.run_coroutine(eval(code, self.namespace))
        return eval(code, self.namespace)

    def outcome(self, value):
        """Calls the value's own repr, so it runs while user code can still be interrupted."""
        done = {"status": "ok", "exitCode": 0}
        figures = sys.modules.get(FIGURES)
        shown = figures.flush() if figures is not None and not self.is_rehearsal else ()
        if value is None:
            return done
        builtins._ = value
        text = text_of(value)
        done["result"] = text
        if len(text) >= MAX_TEXT:
            done["resultTruncated"] = True
        if not (shown and any(figure is value for figure in shown)):
            self.displays.show_value(text, value)
        return done

    def exited(self, code):
        """sys.exit() ends the run, not the session."""
        if code is None or code == 0:
            return {"status": "ok", "exitCode": 0}
        if isinstance(code, int):
            number = code & 0xFF
        else:
            number = 1
            try:
                sys.stderr.write(str(code) + "\n")
            except BaseException:
                pass
        error = {"name": "SystemExit", "message": str(number), "traceback": "SystemExit: %d" % number}
        return {"status": "error", "exitCode": number, "error": error}

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass

    def variables(self):
        """The user's variables as JSON."""
        with restored():
            import json

            return json.dumps(variables.listing(self.namespace, self.hidden)).encode()

    def get(self, expression, form, max_bytes):
        try:
            self.user_code = True
            value = eval(compile(expression, "<get>", "eval"), self.namespace)
            with restored():
                preview = form == "preview"
                data = variables.preview(value, max_bytes) if preview else variables.encode(value, form)
        except KernelError:
            raise
        except NameError as error:
            raise KernelError("variable_missing", str(error))
        except KeyboardInterrupt:
            raise KernelError("expression_failed", "interrupted")
        except BaseException as error:
            raise KernelError("expression_failed", "%s: %s" % (class_name(error), variables.clip(str(error))))
        finally:
            self.user_code = False
        if len(data) > max_bytes:
            raise KernelError("too_large", "%d bytes exceed the limit of %d" % (len(data), max_bytes))
        return data

    def look(self, kind, header):
        """Answers `complete` and `inspect` as JSON. Imported here: most sessions never ask."""
        self.user_code = True  # `inspect` calls the value's own repr
        try:
            if kind == "complete":
                from ..prompt.completion import complete

                found = complete(self.namespace, header["kind"], header["path"], header["prefix"])
            else:
                from ..prompt.inspection import inspect_name

                found = inspect_name(self.namespace, self.sources, header["path"], header["source"])
            return dumps(found).encode()
        except KeyboardInterrupt:
            raise KernelError("expression_failed", "interrupted")
        finally:
            self.user_code = False

    def set(self, name, form, data):
        if not name.isidentifier():
            raise KernelError("variable_missing", "%r is not a variable name" % name[:80])
        with restored():
            self.namespace[name] = variables.decode(data, form)

    def snapshot(self, allowance=None):
        """Yields the variables as bytes, piece by piece."""
        self.user_code = True  # saving runs the values' own code, which has to be interruptible
        try:
            for header, body in snapshot.entries(self.namespace, self.hidden, self.sources, allowance, self.waiting):
                yield snapshot.pack(header, body)
                yield body
        finally:
            self.user_code = False

    def restore(self, data, allowance=None):
        """Restores the variables of a snapshot. Returns those that could not be restored."""
        self.user_code = True
        try:
            self.waiting = []
            return snapshot.restore(self.namespace, data, self.sources, allowance, self.waiting)
        except ValueError as error:
            raise KernelError("variable_unserializable", str(error))
        finally:
            self.user_code = False

    def reset(self):
        """Forgets every variable; modules stay imported. For Pyodide only: elsewhere the supervisor starts a new worker."""
        self.sources = Sources()
        self.waiting = []  # saved variables that need a module which this cell lacks
        self.install()


def stopped_at(error, filename):
    """The line of the run's own code that an interrupt ended, whatever it was calling."""
    line, step = None, error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == filename:
            line = step.tb_lineno
        step = step.tb_next
    return {} if line is None else {"line": line}


def set_environment(values):
    """Replaces the whole environment. Does not load `os`, which takes a cold cell 2 ms: it reads `posix.environ` later."""
    if "os" in sys.modules:
        environ = sys.modules["os"].environ
        environ.clear()
        environ.update(values)
        return
    for name in [*posix.environ]:
        posix.unsetenv(name)
    posix.environ.clear()
    for name, value in values.items():
        posix.putenv(name, value)
        posix.environ[name.encode("utf-8", "surrogateescape")] = value.encode("utf-8", "surrogateescape")
