"""Describes what a name stands for: type, signature, docstring, source. Its text is truncated here."""
from ..shared.pristine import BUILTINS as __builtins__, restored  # noqa: A001
from .lookup import MISSING, Function, Method, Module, class_dict, class_name, is_class, is_computed, is_one_of, resolve

MOST_TEXT = 20_000
MOST_SOURCE = 60_000
MOST_SIGNATURE = 2_000
MOST_REPR = 300


def inspect_name(namespace, sources, path, wants_source):
    """What is known of a dotted name, or None if there is no such name.

    Its repr, docstring and signature may run the value's own code, so the host limits the time.
    """
    value = resolve(namespace, path)
    if value is MISSING:
        return None
    facts = {"name": ".".join(path), "type": type_name(value)}
    with restored():
        add(facts, "signature", lambda: signature(value, path[-1]), MOST_SIGNATURE)
        add(facts, "doc", lambda: docstring(value), MOST_TEXT)
        add(facts, "value", lambda: shown(value), MOST_REPR)
        add(facts, "length", lambda: length(value), 20)
        add(facts, "file", lambda: file_of(value), 1000)
        if wants_source:
            sources_for_inspect(sources)
            add(facts, "source", lambda: source(value), MOST_SOURCE)
    return facts


def type_name(value):
    kind = type(value)
    module = class_dict(kind).get("__module__", "builtins")
    name = class_name(kind)
    return name if type(module) is not str or module in ("builtins", "__main__") else "%s.%s" % (module, name)


def add(facts, field, read, most):
    """Leaves out what cannot be told. An interrupt ends the whole request."""
    try:
        text = read()
    except KeyboardInterrupt:
        raise
    except BaseException:
        return
    if type(text) is not str or text == "":
        return
    if len(text) > most:
        facts["truncated"] = True
        text = text[:most]
    facts[field] = text.encode("utf-8", "replace").decode()


def signature(value, name):
    if not (is_class(value) or callable(value)) or is_computed(value):
        return None
    from inspect import signature as read

    return name + str(read(value))


def docstring(value):
    """A plain value has the docstring of its class, as `help` shows it."""
    from inspect import cleandoc

    text = value.__doc__
    return cleandoc(text) if type(text) is str else None


def shown(value):
    if has_source(value) or is_computed(value):
        return None
    from reprlib import Repr

    short = Repr()  # the beginning of a container: a repr of all its items may take seconds
    short.maxlist = short.maxtuple = short.maxdict = short.maxset = short.maxfrozenset = 20
    short.maxstring = short.maxother = MOST_REPR
    return short.repr(value).replace("\n", " ")


def length(value):
    return str(len(value)) if is_one_of(type(value), str, bytes, bytearray, list, tuple, dict, set, frozenset) else None


def file_of(value):
    if not has_source(value):
        return None
    from inspect import getfile

    return getfile(value)


def sources_for_inspect(sources):
    """Makes the text of earlier runs known to `inspect`."""
    import linecache  # noqa: F401

    sources.publish_all()


def source(value):
    from inspect import getsource

    if type(value) is property:
        value = value.fget
    if is_class(value) and class_dict(value).get("__module__") == "__main__":
        return class_source(value)
    return getsource(value if has_source(value) else type(value))


def has_source(value):
    return is_class(value) or is_one_of(type(value), Function, Method, Module)


def class_source(value):
    """A class of the session has no file: its methods say which run defined it."""
    import ast
    import linecache

    for member in list(vars(value).values()):
        code = getattr(member, "__code__", None)
        if code is None:
            continue
        text = "".join(linecache.getlines(code.co_filename))
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and node.name == value.__name__:
                return ast.get_source_segment(text, node)
    return None
