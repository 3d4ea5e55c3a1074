"""Imports the kernel's modules from the one file that holds them all, made by `bundle.py`.

Runs before everything else, without being a module itself: whoever starts the kernel has read the file, and gives its
content as `data` and its directory as `root`. A module is unpacked when it is wanted: many of them come after the cell is
ready, or never.
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
        if name == "codecell_kernel":
            spec.submodule_search_locations = [ROOT + "/codecell_kernel"]
        return spec

    @staticmethod
    def create_module(spec):
        return None

    @staticmethod
    def exec_module(module):
        exec(module.__spec__.loader_state, module.__dict__)
        module.__spec__.loader_state = None


sys.meta_path.insert(0, Importer)
# for programs that take over our paths and not our importers, such as those of multiprocessing
sys.path.append(ROOT)
