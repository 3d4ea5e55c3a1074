"""Finds values by name without running code of the session: no property, no `__getattr__`, no `__dir__`."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import builtins
import sys

MISSING = object()
Module = type(sys)
Function = type(lambda: None)
GetSet = type(Function.__dict__["__code__"])
Member = type(Function.__dict__["__globals__"])
# A metaclass may define `__dict__` and `__mro__` of its own: these are the real ones.
class_dict = type.__dict__["__dict__"].__get__
class_mro = type.__dict__["__mro__"].__get__
class_name = type.__dict__["__name__"].__get__
METHODS = ("method_descriptor", "wrapper_descriptor", "classmethod_descriptor")


class Owner:
    def method(self):
        pass


Method = type(Owner().method)


def is_one_of(kind, *kinds):
    """Not `in`, which may call `__eq__` of a metaclass."""
    return any(kind is one for one in kinds)


def is_class(value):
    """Not `isinstance`, which may ask the value for its `__class__`."""
    return derives(value, type)


def derives(value, kind):
    return any(one is kind for one in class_mro(type(value)))


def own_items(value):
    """The dictionary of a class, a module or an instance; empty if it has none that can be read without its code."""
    if is_class(value):
        return class_dict(value)
    for kind in class_mro(type(value)):
        slot = class_dict(kind).get("__dict__")
        if slot is not None:
            items = slot.__get__(value) if is_one_of(type(slot), GetSet, Member) else None
            return items if items is not None and derives(items, dict) else {}
    return {}


def item(items, name):
    """`dict.get`, also if the class of the dictionary replaces it."""
    return dict.get(items, name, MISSING) if derives(items, dict) else items.get(name, MISSING)


def keys(items):
    """A copy: threads of the session may change the dictionary meanwhile."""
    return list(dict.__iter__(items) if derives(items, dict) else items)


def layers(value):
    """Dictionaries that its attributes are found in, the nearest first, each with whether it belongs to its class."""
    if is_class(value):
        for kind in class_mro(value):
            yield class_dict(kind), True
        return
    yield own_items(value), False
    for kind in class_mro(type(value)):
        yield class_dict(kind), True


def is_computed(value):
    """Whether reading the attribute would run code: a property or another descriptor."""
    if is_one_of(type(value), Function, staticmethod, classmethod, Member):
        return False
    return any("__get__" in class_dict(kind) for kind in class_mro(type(value))) and not is_builtin_method(value)


def is_builtin_method(value):
    return is_class(value) or class_name(type(value)) in METHODS


def attribute(value, name):
    """An attribute as the class or the instance holds it. A property is returned itself and not evaluated."""
    for items, is_of_class in layers(value):
        found = item(items, name)
        if found is not MISSING:
            return bound(found, value) if is_of_class else found
    return MISSING


def bound(found, owner):
    kind = type(found)
    if kind is staticmethod:
        return found.__func__
    if kind is classmethod:
        return Method(found.__func__, owner if is_class(owner) else type(owner))
    if is_class(owner):
        return found
    if kind is Function:
        return Method(found, owner)
    if kind is Member:
        try:
            return found.__get__(owner)
        except AttributeError:
            return MISSING
    return found


def resolve(namespace, path):
    """The value of a dotted name, or MISSING."""
    value = item(namespace, path[0])
    if value is MISSING:
        value = item(own_items(builtins), path[0])
    for name in path[1:]:
        if value is MISSING or is_computed(value):
            return MISSING
        value = attribute(value, name)
    return value
