"""Compiles the kernel into one file of bytecode: finding forty modules one by one costs a cold cell milliseconds.

Each interpreter compiles its own. The file starts with `importer.py`, which imports from the rest: the modules one after
the other, an index of where each starts and ends, and in the last four bytes the position of that index.
"""
import marshal
import os

PLACE = "/.kernel/codecell_kernel/"  # the kernel's directory in tracebacks, wherever it really is
ELSEWHERE = ("bundle.py", "importer.py", "worker/wasm.py", "worker/wasm_asyncio.py")


def bundle(directory):
    data, index = compiled(directory, "importer.py"), {}
    for file in sources(directory):
        if file not in ELSEWHERE:
            code = compiled(directory, file)
            index[module_name(file)] = len(data), len(data) + len(code)
            data += code
    return data + marshal.dumps(index) + len(data).to_bytes(4, "little")


def sources(directory):
    """Paths of the modules below the directory, relative to it."""
    found = []
    for folder, _, names in os.walk(directory):
        found += [os.path.relpath(os.path.join(folder, name), directory) for name in names if name.endswith(".py")]
    return sorted(found)


def module_name(file):
    parts = ["codecell_kernel", *file[:-3].split("/")]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def compiled(directory, file):
    with open(os.path.join(directory, file), encoding="utf-8") as source:
        return marshal.dumps(compile(source.read(), PLACE + file, "exec", dont_inherit=True, optimize=2))
