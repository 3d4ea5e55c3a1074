"""`%pip install` in a session: the host resolves, checks and sends packages, and this writes them into the workspace.

They are files like the program's own: it can change them, which harms only itself, and they survive as files do.
"""
from ..shared.pristine import BUILTINS as __builtins__, restored  # noqa: A001
import re
import sys

DIRECTORY = ".codecell-packages"  # supervisor/changes.py leaves it out
INSTALLER = "pip_install"
LINE = re.compile(r"\s*[%!]\s*(?:pip3?|(?:\S*/)?python[\d.]*\s+-m\s+pip)\s+install\b(.*)", re.S)
MAX_LINES = 100
MAX_LISTED = 5000
directory = None  # where packages are, once programs may install


def enable():
    """Puts the directory on the paths, whether it exists or not: an install of another interpreter is found too."""
    import os

    global directory
    directory = os.environ.get("HOME", "/workspace") + "/" + DIRECTORY
    if directory not in sys.path:
        sys.path.append(directory)
    refresh()
    for name, entry in (("PYTHONPATH", directory), ("PATH", directory + "/bin")):
        before = os.environ.get(name, "")
        if entry not in before.split(":"):
            os.environ[name] = before + ":" + entry if before else entry


def refresh():
    """Python remembers that a directory was missing, also in a copy that is older than the directory. Runs before each run, so a
    program that has broken `sys` must not stop it.
    """
    try:
        if sys.path_importer_cache.get(directory, directory) is None:
            del sys.path_importer_cache[directory]
    except Exception:
        pass


def install(ask, values):
    """`ask(values)` calls the host. Prints what pip prints."""
    words = values["requirements"]
    words = [words] if type(words) is str else [str(word) for word in words]
    with restored():
        enable()
        present = installed()
    answer = ask({"requirements": words, "installed": present})
    packages = answer["packages"]
    while packages:
        files = ask({"set": answer["set"]})["files"]
        if not files:
            break
        with restored():
            write(files)
    with restored():
        import importlib

        importlib.invalidate_caches()
        refresh()
    if packages:
        print("Successfully installed " + " ".join("%(name)s-%(version)s" % one for one in packages))
    else:
        print("Requirement already satisfied: " + " ".join(word for word in words if word[:1] != "-"))


def installed():
    """`name==version` of everything on the path, in the path's order."""
    import os

    found = []
    for entry in sys.path:
        try:
            names = sorted(os.listdir(entry or "."))
        except (OSError, TypeError):
            continue
        for name in names:
            base, dot, kind = name.rpartition(".")
            if kind not in ("dist-info", "egg-info") or "-" not in base:
                continue
            project, version = base.split("-")[:2]
            if len(found) < MAX_LISTED and len(name) < 250:
                found.append(project + "==" + version)
    return found


def write(files):
    import os
    from binascii import a2b_base64

    for one in files:
        path = directory + "/" + one["path"]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "ab" if one["more"] else "wb") as file:
            file.write(a2b_base64(one["data"]))
        if one["executable"]:
            os.chmod(path, 0o755)


def translated(code, compiles):
    """The code with its lines `%pip install …` and `!pip install …` as calls, or None if it has none.

    `compiles(code)` returns None or the SyntaxError. Only a line that Python cannot read is replaced, so a text that contains
    such a line stays what it is.
    """
    lines, changed = code.split("\n"), False
    for _ in range(MAX_LINES):
        error = compiles("\n".join(lines))
        if error is None:
            return "\n".join(lines) if changed else None
        at = (error.lineno or 0) - 1
        line = LINE.fullmatch(lines[at]) if 0 <= at < len(lines) else None
        if line is None:
            return None
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines[at] = "%s__import__('codecell_host').%s(%r)" % (indent, INSTALLER, words_of(line.group(1)))
        changed = True
    return None


def words_of(text):
    from shlex import split

    try:
        return split(text, comments=True)
    except ValueError:
        return text.split()
