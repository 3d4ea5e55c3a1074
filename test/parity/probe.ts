import type { TierName } from "../support/tiers.ts";

export type Verdict = string | number | boolean | null | readonly Verdict[];

/** A tier's different verdict, and why it is not a hole. */
export interface Exception {
  readonly verdict: Verdict;
  readonly because: string;
}

export type Exceptions = Partial<Record<TierName, Exception>>;

/** A small program that asks what a cell can do or see. */
export interface Probe {
  /** the attack, or what a program may expect */
  readonly name: string;
  /** Python after the prelude. The answer is `verdict` at its end, or else how the run ended. */
  readonly code: string;
  readonly expect: Verdict;
  readonly except?: Exceptions;
  readonly language?: "python" | "bash";
  /** a parked copy of the interpreter must exist before it starts */
  readonly afterIdle?: boolean;
}

/** A probe whose code is one expression. */
export function asks(name: string, expression: string, expect: Verdict, except?: Exceptions): Probe {
  return { name, code: `verdict = ${expression}`, expect, ...(except ? { except } : {}) };
}

/** A probe that must be refused, with any error. */
export function attacks(name: string, expression: string, except?: Exceptions): Probe {
  return asks(name, `attempt(lambda: ${expression})`, "refused", except);
}

/** Runs before each probe; `host` holds facts of the host that a cell must not be able to use. */
export const prelude = `
import json, os, socket, stat, sys
def attempt(action):
    try: action()
    except BaseException: return "refused"
    return "done"
def read(path, size=1 << 20):
    with open(path, "rb") as file: return file.read(size)
def readable(path):
    try: return bool(os.listdir(path)) if os.path.isdir(path) else bool(read(path, 16))
    except OSError: return False
def text_of(*paths):
    parts = []
    for path in paths:
        try: parts.append(read(path).decode(errors="replace"))
        except OSError: pass
    return "\\n".join(parts)
def writes(directory):
    path = directory + "/written"
    def write():
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY)); os.remove(path)
    return attempt(write)
def call(name, *args):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    ctypes.set_errno(0)
    number = host["calls"][name]
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    if result < 0: raise OSError(ctypes.get_errno(), name)
    return result
def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as one:
        one.settimeout(2); one.connect(address); one.send(b"x")
def buffer(size=4096):
    import ctypes
    return ctypes.create_string_buffer(size)
def status(name):
    for line in text_of("/proc/self/status").splitlines():
        if line.startswith(name + ":"): return line.split(":", 1)[1].strip()
`;
