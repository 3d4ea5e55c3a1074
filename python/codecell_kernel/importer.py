"""Imports the kernel's modules from one file that contains all of them, which `bundle.py` writes.

It runs before everything else and is not a module itself: whoever starts the kernel reads the file, and passes its content
as `data` and its directory as `root`. A module is unpacked on import: many are imported after the cell is ready, or never.
"""
import sys
from marshal import loads

VIEW, ROOT = memoryview(data), root  # noqa: F821
INDEX = loads(VIEW[int.from_bytes(VIEW[-4:], "little") :])
Spec = type(sys.__spec__)


class Importer:
    @staticmethod
    def find_spec(name, path=None, target=None):
        place = INDEX.get(name)
        if place is None:
            return None
        code = loads(VIEW[place[0] : place[1]])
        spec = Spec(name, Importer, origin=code.co_filename, loader_state=code)
        spec.has_location = True
        spec.cached = ""  # there is no cache file, and working out the name of one takes time
        if code.co_filename.endswith("/__init__.py"):
            spec.submodule_search_locations = [ROOT + "/" + name.replace(".", "/")]
        return spec

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(module.__spec__.loader_state, module.__dict__)
        module.__spec__.loader_state = None


sys.meta_path.insert(0, Importer)
# for child processes that inherit the import path but not this importer, such as those of multiprocessing
sys.path.append(ROOT)
