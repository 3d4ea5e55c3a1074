"""What a name can be completed to. Looks only, and stops after a fixed time: nothing of the session runs meanwhile."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import builtins
import posix
import sys
from time import monotonic

from .lookup import MISSING, Function, Method, Module, class_name, derives, is_class, is_computed, is_one_of, item, keys
from .lookup import layers, own_items, resolve

BUDGET_SECONDS = 0.025
MOST_MATCHES = 1000
MOST_CHARACTERS = 200
KEY_REFUSED = frozenset("'\"\\")
FUNCTIONS = ("builtin_function_or_method", "method_descriptor", "wrapper_descriptor", "classmethod_descriptor", "method-wrapper")


class Matches:
    """Collects names with a prefix, up to a number and a time."""

    def __init__(self, prefix):
        self.prefix = prefix
        self.kinds = {}
        self.until = monotonic() + BUDGET_SECONDS
        self.looked = 0
        self.is_complete = True

    def add(self, name, kind):
        """Whether there is time and room for more. Names with an underscore are for those who type one."""
        self.looked += 1
        if self.looked % 256 == 0 and monotonic() > self.until:
            self.is_complete = False
            return False
        if type(name) is not str or name in self.kinds or len(name) > MOST_CHARACTERS:
            return True
        if not name.startswith(self.prefix) or (name[:1] == "_" and self.prefix[:1] != "_"):
            return True
        if len(self.kinds) >= MOST_MATCHES:
            self.is_complete = False
            return False
        self.kinds[name] = kind if type(kind) is str else kind()
        return True

    def add_items(self, items):
        for name in keys(items):
            if type(name) is str and not self.add(name, lambda: kind_of(item(items, name))):  # noqa: B023
                return False
        return True

    def answer(self):
        found = [{"text": name, "kind": self.kinds[name]} for name in sorted(self.kinds)]
        return {"matches": found, "truncated": not self.is_complete}


def complete(namespace, kind, path, prefix):
    matches = Matches(prefix)
    collect = COLLECTORS.get(kind)
    if collect is not None:
        collect(matches, namespace, path)
    return matches.answer()


def add_names(matches, namespace, _path):
    if matches.add_items(namespace):
        matches.add_items(own_items(builtins))


def add_attributes(matches, namespace, path):
    value = resolve(namespace, path)
    if value is MISSING or is_computed(value):
        return
    for items, _ in layers(value):
        if not matches.add_items(items):
            return


def add_keys(matches, namespace, path):
    value = resolve(namespace, path)
    if type(value) is not dict:
        return
    for key in keys(value):
        if type(key) is str and key.isprintable() and KEY_REFUSED.isdisjoint(key) and not matches.add(key, "key"):
            return


def add_files(matches, _namespace, path):
    """`path` is the directory as typed, or empty."""
    directory = path[0] if path else ""
    try:
        with posix.scandir(directory or ".") as entries:
            for entry in entries:
                if entry.name.isprintable() and not matches.add(entry.name + ("/" if entry.is_dir() else ""), "file"):
                    return
    except (OSError, ValueError):
        return


def add_modules(matches, _namespace, path):
    """Modules that can be imported, without importing one: those below a package, or all at the top."""
    if path:
        package = sys.modules.get(".".join(path), MISSING)
        places = item(own_items(package), "__path__") if package is not MISSING else below(path)
        add_directories(matches, places if type(places) is list else [])
        start = ".".join(path) + "."
        for name in keys(sys.modules):  # such as os.path, which is in no directory
            if type(name) is str and name.startswith(start) and name.count(".") == len(path):
                matches.add(name[len(start) :], "module")
        return
    for name in (*sys.builtin_module_names, *getattr(sys, "stdlib_module_names", ())):
        matches.add(name, "module")
    for name in keys(sys.modules):
        if type(name) is str and "." not in name and name not in ("codecell_kernel", "__main__"):
            matches.add(name, "module")
    add_directories(matches, [place or "." for place in list(sys.path) if type(place) is str])
    matches.kinds.pop("codecell_kernel", None)


def below(path):
    """Where the modules of a package would be that is not imported."""
    tail = "/" + "/".join(path)
    return [(place or ".") + tail for place in list(sys.path) if type(place) is str]


def add_directories(matches, places):
    for place in places:
        try:
            with posix.scandir(place) as entries:
                for entry in entries:
                    name = module_name(entry)
                    if name is not None and not matches.add(name, "module"):
                        return
        except (OSError, ValueError):
            continue


def module_name(entry):
    name, dot, ending = entry.name.partition(".")
    if not name.isidentifier() or name == "__pycache__":
        return None
    if not dot:
        return name if entry.is_dir() else None
    return name if ending in ("py", "pyc") or ending.endswith(".so") or ending == "so" else None


def add_members(matches, namespace, path):
    """`from a.b import …`: the names of a module that is already imported, and the modules below it."""
    package = sys.modules.get(".".join(path), MISSING)
    if package is not MISSING and not matches.add_items(own_items(package)):
        return
    add_modules(matches, namespace, path)


def kind_of(value):
    if is_class(value):
        return "class"
    if derives(value, Module):
        return "module"
    if is_one_of(type(value), Function, Method, staticmethod, classmethod) or class_name(type(value)) in FUNCTIONS:
        return "function"
    return "property" if is_computed(value) else "value"


COLLECTORS = {
    "names": add_names,
    "attributes": add_attributes,
    "keys": add_keys,
    "files": add_files,
    "modules": add_modules,
    "members": add_members,
}
