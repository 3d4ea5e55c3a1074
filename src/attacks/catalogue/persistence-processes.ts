import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";
import { noProcesses } from "./shared-facts.ts";

/**
 * Python: `stay()` becomes a program that ignores the usual signals and writes to the shared directory until it is killed. Its
 * command line has the mark by which the host finds it.
 */
const staying = `
import signal, time
BEAT = "/shared/beat-" + host["mine"]
SCRIPT = "trap '' TERM INT HUP QUIT; while :; do echo >> '" + BEAT + "'; sleep 0.05; done; : " + host["mine"]
def stay(): os.execv("/bin/sh", ["sh", "-c", SCRIPT])
`;

const leaving = {
  kind: "persistence",
  scenario: "mounts",
  containedBy: {
    default: "what a run leaves behind is killed with it; the pid namespace ends with the cell",
    gvisor: "gVisor's own kernel ends with the cell",
  },
  notTried: noProcesses,
  hostChecks: ["still-beating", "process-survived"],
  weakness: "shared-cell",
} as const;

function leaves(id: string, title: string, code: string, parts: Partial<Attack> = {}): Attack {
  const settled = `${staying}${code}\ntime.sleep(0.1)\nverdict = "contained" # the host looks for it after the session was closed`;
  return { ...does(`persistence/${id}`, title, settled, leaving), ...parts };
}

/** Programs that try to run on after their session was closed. */
export const persistenceOfProcesses: readonly Attack[] = [
  leaves(
    "child",
    "leaves a child behind that ignores every signal",
    `
if os.fork() == 0:
    for number in set(range(1, 65)) - {9, 19, 32, 33}:
        try: signal.signal(number, signal.SIG_IGN)
        except OSError: pass
    stay()`,
  ),
  leaves(
    "daemon",
    "becomes a daemon: two forks, sessions of their own, no parent",
    `
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid() if os.getpgrp() != os.getpid() else None
        os.chdir("/"); stay()
    os._exit(0)
os.wait()`,
  ),
  leaves(
    "stopped-child",
    "leaves a stopped child behind, which a signal cannot end before it goes on",
    `
pid = os.fork()
if pid == 0: stay()
time.sleep(0.2)
os.kill(pid, signal.SIGSTOP)
if os.fork() == 0:
    time.sleep(0.5); os.kill(pid, signal.SIGCONT); os._exit(0)`,
  ),
  leaves(
    "sibling",
    "starts a process as a child of its supervisor instead of its own",
    `
import ctypes
if call("clone", 0x8000 | signal.SIGCHLD, 0, 0, 0, 0) == 0: stay()`,
    { containedBy: { ...leaving.containedBy, default: "whatever its parent is, it is in the cell's pid namespace" } },
  ),
  leaves(
    "many-children",
    "leaves twenty children behind, in groups and sessions of their own",
    `
for n in range(20):
    try:
        if os.fork() == 0:
            os.setpgid(0, 0) if n % 2 else os.setsid()
            stay()
    except OSError: break`,
  ),
  leaves(
    "late-child",
    "starts a process between two runs, when nobody looks",
    `
import threading
def later():
    for _ in range(20):
        time.sleep(0.02)
        if os.fork() == 0: os.setsid(); stay()
threading.Thread(target=later, daemon=True).start()`,
  ),
  leaves(
    "exit-handlers",
    "starts a process from handlers that run when the interpreter ends",
    `
import atexit, threading, weakref
class Last: pass
def begin(*_):
    if os.fork() == 0: os.setsid(); stay()
last = Last()
atexit.register(begin); weakref.finalize(last, begin)
for number in (signal.SIGTERM, signal.SIGHUP): signal.signal(number, begin)
threading.Thread(target=lambda: [time.sleep(5), begin()]).start()`,
    { control: { none: "the interpreter of a control ends at once, so that nothing shows who was last" } },
  ),
  leaves(
    "parked-name",
    "takes the name of codecell's own parked copy",
    `
# a program has the name of the path that started it
PARKED = os.path.join(os.getcwd(), "parked")
try: os.symlink("/bin/sh", PARKED)
except FileExistsError: pass
if os.fork() == 0: os.execv(PARKED, [PARKED, "-c", SCRIPT])`,
  ),
  {
    ...does(
      "persistence/thread",
      "leaves a thread running after its session was closed",
      `
import threading, time
def beat():
    while True:
        with open("/shared/beat-" + host["mine"], "a") as file: file.write(".")
        time.sleep(0.05)
threading.Thread(target=beat, daemon=True).start()
verdict = "contained"`,
      leaving,
    ),
    notTried: { wasm: "there are no threads" },
    control: { none: "a thread ends with its interpreter, which a control cannot keep" },
  },
];
