import { formatSize } from "../../policy/format-units.ts";
import type { Policy } from "../../policy/schema.ts";
import { type Answer, type AnswerTable, answerRules } from "../answer-rules.ts";
import { installedByPrograms } from "../cell-packages.ts";
import { type EnforcementPlan, loadedByHost } from "../receipt.ts";
import { cellLimits, leastMemoryBytes, mostMemoryBytes } from "./limits.ts";

/** What this machine adds to the isolation of the runtime itself. */
export interface WasmFacts {
  readonly hasBubblewrap: boolean;
  /** a shell can set RLIMIT_DATA */
  readonly hasDataLimit: boolean;
  /** codecell runs as root, and no other user can read the files that the cell needs */
  readonly staysRoot: boolean;
}

/** Pure: how this runner would enforce a policy. */
export function planWasm(policy: Policy, facts: WasmFacts): EnforcementPlan {
  return answerRules(policy, answers, facts, notes(policy, facts));
}

const runtime = (how: string): Answer => ({ by: "runtime", how });
const useProcess = "use the process or container runner";

function nothingOfTheHost({ hasBubblewrap }: WasmFacts): Answer {
  return hasBubblewrap
    ? {
        by: "os",
        how: "files exist only in memory; bubblewrap's mount namespace has only the runtime's own files",
      }
    : runtime("files exist only in memory; no function of the context can reach the host's files");
}

function noNetwork({ hasBubblewrap }: WasmFacts): Answer {
  return hasBubblewrap
    ? { by: "os", how: "the context has no sockets; bubblewrap's network namespace has no interfaces" }
    : runtime("the context has no sockets");
}

const answers: AnswerTable<WasmFacts> = {
  "isolation.minimum": ({ isolation }) =>
    isolation.minimum === "wasm"
      ? runtime("Pyodide in an empty V8 context, in a process of its own")
      : { reason: `${isolation.minimum} is stronger than wasm`, hint: "lower isolation.minimum, or use that runner" },
  "fs.workspace": ({ fs }, facts) =>
    fs.workspace === undefined
      ? nothingOfTheHost(facts)
      : { reason: "the wasm runner cannot share host directories", hint: `remove fs.workspace, or ${useProcess}` },
  "fs.deps": ({ fs }, facts) =>
    fs.deps === undefined
      ? nothingOfTheHost(facts)
      : { reason: "the wasm runner cannot share host directories", hint: `remove fs.deps, or ${useProcess}` },
  "fs.mounts": ({ fs }, facts) =>
    fs.mounts.length === 0
      ? nothingOfTheHost(facts)
      : { reason: "the wasm runner cannot mount host directories", hint: `remove fs.mounts, or ${useProcess}` },
  "fs.deny": (_, facts) => nothingOfTheHost(facts),
  "fs.load": () => loadedByHost,
  "net.enabled": ({ net }, facts) =>
    net.enabled
      ? { reason: "the wasm runner has no sockets", hint: "set net.enabled to false, or use another runner" }
      : noNetwork(facts),
  "net.allowlist": (_, facts) => noNetwork(facts),
  "net.deny": (_, facts) => noNetwork(facts),
  "net.inspect": (_, facts) => noNetwork(facts),
  "net.rules": (_, facts) => noNetwork(facts),
  "net.secrets": (_, facts) => noNetwork(facts),
  "net.connections": (_, facts) => noNetwork(facts),
  "net.requests": (_, facts) => noNetwork(facts),
  "net.sent": (_, facts) => noNetwork(facts),
  "net.received": (_, facts) => noNetwork(facts),
  "proc.timeout": () => ({
    by: "supervisor watchdog",
    how: "interrupts the run, and kills the interpreter's thread 0.5 s later",
  }),
  "proc.cpus": ({ proc }) =>
    proc.cpus < 1
      ? {
          reason: "the wasm runner cannot limit code to less than one CPU",
          hint: `set proc.cpus to 1, or ${useProcess}`,
        }
      : runtime("one interpreter thread; code cannot start another"),
  "proc.memory": memory,
  "proc.pids": () => runtime("code cannot start processes or threads"),
  "proc.files": () => runtime("counted in the virtual file system; no open file is a descriptor of the host"),
  "proc.exactDisk": () => runtime("a write beyond the quota of the virtual file system fails"),
  "proc.disk": () => runtime("quota in the virtual file system; files live in memory, under the memory limits"),
  "proc.output": () =>
    runtime(
      "the middle of a longer output is cut and counted outside the interpreter; a run that prints 16 times as much, and over 64MiB, is interrupted",
    ),
  "proc.background": () => runtime("code cannot start processes"),
  env: () =>
    runtime(
      "the interpreter's environment has only these, HOME, LANG, TMPDIR, TZ and settings of libraries; its process has none",
    ),
  "session.recovery": recovery,
  "session.checkpoints": () => runtime("not supported: WebAssembly has no fork, so a request for one fails"),
  "session.undo": () => runtime("not supported: WebAssembly has no fork, so an undo fails"),
  "kernel.preload": ({ kernel }) => {
    // What packages bring is known when they are imported.
    const isKnown = kernel.packages.install.length === 0;
    const missing = kernel.preload.filter((name) => isKnown && !isInPythonRuntime(name));
    return missing.length === 0
      ? runtime(kernel.preload.length > 0 ? "imported before the first run" : "nothing to import")
      : { reason: `the WASM runtime does not have: ${missing.join(", ")}`, hint: `remove it, or ${useProcess}` };
  },
  "kernel.python": ({ kernel }) =>
    kernel.python === undefined
      ? runtime("Pyodide's Python")
      : { reason: "the wasm runner has its own Python", hint: "remove kernel.python, or use the process runner" },
  "kernel.packages": ({ kernel: { packages } }) =>
    packages.install.length === 0
      ? packages.inside
        ? { by: "host", how: installedByPrograms }
        : runtime("nothing is installed")
      : {
          by: "host",
          how: "pure Python and Pyodide wheels only, each checked against its hash; copied into the interpreter's memory",
        },
  "kernel.image": ({ kernel }) =>
    kernel.image === undefined
      ? runtime("uses Pyodide's Python, not an image")
      : { reason: "this runner does not use images", hint: "remove kernel.image, or use the container runner" },
};

function recovery({ session }: Policy): Answer {
  switch (session.recovery) {
    case "required":
      return {
        reason: "after a crash, the wasm runner loses files and variables that cannot be pickled",
        hint: "set session.recovery to auto, or use the process runner",
      };
    case "auto":
      return runtime("restores variables from a snapshot that is taken in idle time; results say which and from when");
    case "off":
      return runtime(
        "no snapshot is kept: after a crash the interpreter starts fresh, and the result says what was lost",
      );
  }
}

function memory({ proc }: Policy, facts: WasmFacts): Answer {
  if (proc.memoryBytes < leastMemoryBytes || proc.memoryBytes > mostMemoryBytes) {
    const [least, most] = [formatSize(leastMemoryBytes), formatSize(mostMemoryBytes)];
    return {
      reason: `a 32-bit WebAssembly interpreter can have ${least} to ${most} of memory`,
      hint: "set proc.memory to a value in that range",
    };
  }
  const limits = cellLimits(proc);
  const parts = [
    `WebAssembly memory maximum ${formatSize(proc.memoryBytes)}`,
    `the interpreter is killed when its process grows by ${formatSize(limits.growthBytes)}, files in memory included`,
    ...(facts.hasDataLimit ? [`RLIMIT_DATA ${formatSize(limits.dataBytes)}`] : []),
  ];
  return runtime(parts.join("; "));
}

function notes({ session }: Policy, facts: WasmFacts): string[] {
  return [
    facts.hasBubblewrap
      ? "A vulnerability in V8 would give code control of the cell's process; bubblewrap would still protect files and network."
      : "A vulnerability in V8 would give code control of the cell's process, and for the OS that process may use this user's network and files: only V8 and Node's permission model protect them. Install bubblewrap for a second barrier.",
    ...(facts.staysRoot
      ? ["The cell's process runs as root, because no other user can reach Node or the runtime files."]
      : []),
    ...(session.recovery === "auto"
      ? [
          `After a crash, this runner restores variables from a snapshot${session.persist ? " and files from the last save" : ", but no files"}. Variables that cannot be pickled are lost.`,
        ]
      : []),
    "All sessions share one hash() seed, because interpreters start from one snapshot.",
  ];
}

/** Top-level modules that can be imported in the WASM runtime: the standard library, without packages. */
const moduleNames = `
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
const runtimeModules = new Set(moduleNames.trim().split(/\s+/));

/** Whether a module, or the package it is in, is part of the runtime. */
function isInPythonRuntime(module: string): boolean {
  return runtimeModules.has(module.split(".")[0] ?? "");
}
