"""Makes the kernel one file of bytecode: a cold cell that looks for forty modules one by one takes milliseconds longer.

Made by the interpreter that is to read it, once for each. The file begins with `importer.py`, which imports from the rest:
one module behind the other, where each begins and ends, and in the last four bytes where that is said.
"""
import marshal
import os

PLACE = "/.kernel/codecell_kernel/"  # what tracebacks call the kernel's files, wherever they are
ELSEWHERE = ("bundle.py", "importer.py", "wasm.py", "wasm_asyncio.py")


def bundle(directory):
    data, index = compiled(directory, "importer.py"), {}
    for file in sorted(os.listdir(directory)):
        if file.endswith(".py") and file not in ELSEWHERE:
            code = compiled(directory, file)
            name = "codecell_kernel" if file == "__init__.py" else "codecell_kernel." + file[:-3]
            index[name] = len(data), len(data) + len(code)
            data += code
    return data + marshal.dumps(index) + len(data).to_bytes(4, "little")


def compiled(directory, file):
    with open(os.path.join(directory, file), encoding="utf-8") as source:
        return marshal.dumps(compile(source.read(), PLACE + file, "exec", dont_inherit=True, optimize=2))
