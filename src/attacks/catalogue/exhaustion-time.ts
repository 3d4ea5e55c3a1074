import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";
import { noProcesses } from "./shared-facts.ts";

const time = {
  kind: "exhaustion",
  containedBy: { default: "proc.timeout: interrupt, then kill" },
  endings: ["timeout", "crashed", "out_of_memory"],
  timeoutMs: 500,
  hostChecks: ["session-misled"],
  weakness: "no-limits",
} as const;

const output = {
  kind: "exhaustion",
  containedBy: { default: "proc.output: the supervisor keeps beginning and end, and ends what never stops" },
  endings: ["output_limit", "timeout"],
  hostChecks: ["memory-grew", "session-misled"],
  timeoutMs: 10_000,
} as const;

const inTheHost = { none: "the harm would be in the host that reads the output" } as const;

/** Python: work that never ends. In a control without a time limit it ends after a second, and says so. */
const endless = `
import time
end = time.monotonic() + 1.5
`;

/** Time of the processor and of the host, and output without end. */
export const timeExhaustion: readonly Attack[] = [
  does(
    "exhaustion/time-loop",
    "runs without end",
    `${endless}
while time.monotonic() < end: pass
verdict = "ran on"`,
    time,
  ),
  does(
    "exhaustion/time-deaf",
    "ignores every interrupt while it runs without end",
    `${endless}
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
while time.monotonic() < end:
    try:
        while time.monotonic() < end: pass
    except BaseException: pass
verdict = "ran on"`,
    time,
  ),
  does(
    "exhaustion/time-swallowed-interrupt",
    "catches each interrupt and goes on",
    `${endless}
while time.monotonic() < end:
    try: time.sleep(0.1)
    except BaseException: pass
verdict = "ran on"`,
    time,
  ),
  does(
    "exhaustion/time-stopped",
    "stops itself, so that it never answers again",
    `${endless}
import signal, threading
threading.Timer(3, lambda: None).start()
os.kill(os.getpid(), signal.SIGSTOP)
verdict = "contained"`,
    { ...time, notTried: noProcesses, control: { none: "a stopped program harms only who waits for it: the host" } },
  ),
  does(
    "exhaustion/time-regular-expression",
    "matches a pattern that takes for ever, in code that no interrupt reaches",
    `${endless}
import re
size = 18
while time.monotonic() < end:
    re.match(r"(a+)+$", "a" * size + "b"); size += 1 # twice the time
verdict = "ran on"`,
    time,
  ),
  does(
    "exhaustion/time-huge-number",
    "computes a number with millions of digits",
    `${endless}
power = 1_000_000
while time.monotonic() < end:
    7 ** power; power *= 2
verdict = "ran on"`,
    time,
  ),
  does(
    "exhaustion/time-deep-recursion",
    "recurses until its stack overflows",
    `
sys.setrecursionlimit(10 ** 9)
def deeper(n): return repr([deeper(n + 1)])
try: deeper(0)
except (RecursionError, MemoryError): pass
verdict = "contained" # what counts is that the host goes on`,
    {
      ...time,
      endings: ["crashed", "error", "out_of_memory", "timeout"],
      timeoutMs: 2_000,
      containedBy: { default: "the interpreter ends, the supervisor starts another" },
      control: { none: "it ends only itself" },
    },
  ),
  does(
    "exhaustion/time-kill-itself",
    "ends its own interpreter without a word",
    `
if hasattr(os, "fork"): os._exit(7)
verdict = "contained"`,
    {
      ...time,
      containedBy: { default: "the supervisor reports it, and starts another" },
      control: { none: "it ends only itself" },
    },
  ),
  does(
    "exhaustion/output-flood",
    "prints without end",
    `
for _ in range(20_000): print("x" * 10_000)
verdict = "printed 200 MB"`,
    { ...output, weakness: "no-limits" },
  ),
  does(
    "exhaustion/output-one-line",
    "prints one line without end",
    `
for _ in range(20_000): sys.stdout.write("x" * 10_000)
verdict = "printed 200 MB"`,
    { ...output, weakness: "no-limits" },
  ),
  does(
    "exhaustion/output-errors",
    "floods its standard error, as a logger in a loop does",
    `
import logging
for _ in range(20_000): logging.error("y" * 10_000)
verdict = "printed 200 MB"`,
    { ...output, notTried: { wasm: "the same as its standard output, and slow" }, weakness: "no-limits" },
  ),
  does(
    "exhaustion/output-children",
    "floods its output from many processes at once",
    `
for _ in range(8):
    if os.fork() == 0:
        try:
            for _ in range(2_500): os.write(1, b"z" * 10_000)
        finally: os._exit(0)
for _ in range(8): os.wait()
verdict = "printed 200 MB"`,
    { ...output, notTried: noProcesses, weakness: "no-limits" },
  ),
  does(
    "exhaustion/output-single-bytes",
    "prints single bytes, each of which could become a message",
    `
import time
end = time.monotonic() + 0.7
while time.monotonic() < end: os.write(1, b"x")
verdict = "contained"`,
    {
      ...output,
      hostChecks: ["memory-grew", "session-misled"],
      containedBy: { default: "the supervisor joins small pieces before it sends them" },
      control: inTheHost,
    },
  ),
  does(
    "exhaustion/output-not-text",
    "prints bytes that are no text in any encoding",
    `
for _ in range(64): os.write(1, os.urandom(65536))
verdict = "contained"`,
    { ...output, containedBy: { default: "decoded once, with a replacement for each bad byte" }, control: inTheHost },
  ),
  does(
    "exhaustion/output-wide-error",
    "fails with a message of a million wide characters",
    `
class Wide(BaseException): pass
raise Wide("\\U0001F600" * 1_000_000)`,
    {
      ...output,
      endings: ["error"],
      containedBy: { default: "messages are cut before they are sent" },
      control: inTheHost,
    },
  ),
  does(
    "exhaustion/output-chained-errors",
    "fails with an endless chain of causes",
    `
class Link(BaseException): pass
error = None
for n in range(20_000):
    one = Link("x" * 100); one.__cause__ = error; error = one
raise error`,
    {
      ...output,
      endings: ["error", "crashed"],
      containedBy: { default: "tracebacks are cut before they are sent" },
      control: inTheHost,
    },
  ),
];
