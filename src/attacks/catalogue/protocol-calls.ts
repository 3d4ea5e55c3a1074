import type { Attack } from "../attack.ts";
import { forging } from "./forging.ts";
import { does } from "./make-attack.ts";
import { noProcesses } from "./shared-facts.ts";

const calling = {
  kind: "protocol",
  containedBy: { default: "calls are counted, bounded and checked by the supervisor, and again by the host" },
  endings: ["error", "timeout"],
  hostChecks: ["call-forged", "session-misled", "memory-grew"],
  control: { none: "it attacks codecell's own functions of the host" },
  needsOwnCell: true,
} as const;

/** Calls to functions of the host. The session has two: `note(value)` takes a text, `wait()` answers late. */
export const forgedCalls: readonly Attack[] = [
  does(
    "protocol/call-headers",
    "calls a function of the host with malformed headers",
    `${forging}
odd = [None, -1, 1.5, "x", [], {}, 1 << 70, True]
for one in odd:
    for header in ({"call": one, "name": "note", "size": 2}, {"call": 1 << 40, "name": one, "size": 2}, {"call": 1 << 41, "name": "note", "size": one}):
        quietly(lambda: forge({"t": "call", "id": run_id, **header}, b"{}"))
    quietly(lambda: forge({"t": "forked", "pid": one, "forks": one}))
quietly(lambda: forge({"t": "call.credit", "bytes": 1 << 40}))
quietly(lambda: forge({"t": "answer", "call": 1, "ok": True, "size": 0}))
verdict = "contained"`,
    calling,
  ),
  does(
    "protocol/call-arguments",
    "calls a function of the host with arguments that it does not take",
    `${forging}
bodies = [b'{"value": 3}', b'{"value": "x", "more": 1}', b"[]", b"null", b'{"value": {"a": 1}}', b'{"__proto__": {"value": "x"}}', b"[" * 5000, b'{"value": NaN}']
for at, body in enumerate(bodies):
    quietly(lambda: forge({"t": "call", "id": run_id, "call": (1 << 30) + at, "name": "note", "size": len(body)}, body))
time.sleep(0.1)
verdict = "contained"`,
    calling,
  ),
  does(
    "protocol/call-names",
    "calls functions that the host did not offer",
    `${forging}
for at, name in enumerate(("constructor", "__proto__", "toString", "llm_query", "submit", "eval", "note ", "NOTE", "x" * 64)):
    quietly(lambda: forge({"t": "call", "id": run_id, "call": (1 << 31) + at, "name": name, "size": 2}, b"{}"))
time.sleep(0.1)
verdict = "contained"`,
    calling,
  ),
  does(
    "protocol/call-flood",
    "calls a function of the host hundreds of times at once, and reads no answer",
    `${forging}
for at in range(500): quietly(lambda: forge({"t": "call", "id": run_id, "call": (2 << 30) + at, "name": "wait", "size": 2}, b"{}"))
data = b'{"value": "' + b"x" * 100_000 + b'"}'
for at in range(1000): quietly(lambda: forge({"t": "call", "id": run_id, "call": (3 << 30) + at, "name": "note", "size": len(data)}, data))
verdict = "contained"`,
    calling,
  ),
  does(
    "protocol/call-after-run",
    "calls a function of the host after its run has ended",
    `
import threading, time
def late():
    end = time.monotonic() + 1.5
    while time.monotonic() < end:
        try: note("late " + host["mine"]) if has_ended else None
        except Exception: pass
        time.sleep(0.01)
has_ended = False
def leave():
    global has_ended
    time.sleep(0.3); has_ended = True
for one in (late, leave): threading.Thread(target=one, daemon=True).start()
verdict = "contained"`,
    { ...calling, notTried: { wasm: "there are no threads" } },
  ),
  does(
    "protocol/call-from-fork",
    "calls a function of the host from a process that it forked",
    `
import time
if os.fork() == 0:
    try: note("late " + host["mine"])
    except BaseException: pass
    os._exit(0)
time.sleep(0.2)
verdict = "contained"`,
    { ...calling, notTried: noProcesses },
  ),
];
