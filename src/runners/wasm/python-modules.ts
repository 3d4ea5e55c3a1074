/** Top-level modules that can be imported in the WASM runtime: its standard library, no packages. */
const names = `
  __future__ abc annotationlib argparse array ast asyncio atexit base64 bdb binascii bisect builtins bz2 cProfile
  calendar cmath cmd code codecs codeop collections colorsys compileall compression concurrent configparser
  contextlib contextvars copy copyreg csv ctypes dataclasses datetime decimal difflib dis doctest email encodings
  enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass
  gettext glob graphlib gzip hashlib heapq hmac html http imaplib importlib inspect io ipaddress itertools json
  keyword linecache locale logging lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing netrc
  ntpath nturl2path numbers opcode operator optparse os pathlib pdb pickle pickletools pkgutil platform plistlib
  poplib posix posixpath pprint profile pstats pty py_compile pyclbr pydoc pyexpat pyodide queue quopri random re
  reprlib rlcompleter runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket
  socketserver sqlite3 sre_compile sre_constants sre_parse ssl stat statistics string stringprep struct subprocess
  symtable sys sysconfig tabnanny tarfile tempfile termios textwrap threading time timeit token tokenize tomllib
  trace traceback tracemalloc tty types typing unicodedata unittest urllib uuid warnings wave weakref webbrowser
  wsgiref xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
`;
const modules = new Set(names.trim().split(/\s+/));

/** Whether a module, or the package it is in, is part of the runtime. */
export function isInPythonRuntime(module: string): boolean {
  return modules.has(module.split(".")[0] ?? "");
}
