import type { Attack } from "../attack.ts";
import { forging } from "./forging.ts";
import { does } from "./make-attack.ts";

const message = {
  kind: "protocol",
  containedBy: {
    default: "the supervisor and the host check every message: shape, bounds, and whose it is",
    wasm: "the host checks every message: shape, bounds, and whose it is",
  },
  endings: ["error", "crashed", "interrupted", "ok"],
  hostChecks: ["session-misled"],
  weakness: "trusting-host",
} as const;

/** On WebAssembly each of these costs a new interpreter, so only those that its decoder could treat in its own way are tried. */
const alike = { wasm: "the host's decoder is the same for all of them, and others of them are tried" } as const;
const alikeOnWasm: readonly string[] = [
  ...["ready", "hello", "resumed", "interrupt-answers", "copies", "object-status", "exit-code", "incomplete-error"],
  ...["deep-status", "text-number", "half-display", "growing-text", "stray-reply", "huge-numbers"],
];

function forges(id: string, title: string, code: string, parts: Partial<Attack> = {}): Attack {
  const whole = `${forging}\nquietly(lambda: ${code})\ntime.sleep(0.02)\nverdict = "contained" # the host asks the session again`;
  const notTried = alikeOnWasm.includes(id) ? alike : {};
  return { ...does(`protocol/${id}`, `forges ${title}`, whole, { ...message, notTried }), ...parts };
}

/** Messages that only codecell's own code may send, or that nobody may. */
export const forgedMessages: readonly Attack[] = [
  forges("failed-start", "the message that its start failed", `forge({"t": "failed", "reason": "no"})`),
  forges("ready", "the message that it is ready, a thousand times", `[forge({"t": "ready"}) for _ in range(1000)]`),
  forges("hello", "the greeting of a new cell", `forge({"t": "hello", "protocol": 1, "python": "9", "languages": []})`),
  forges("resumed", "the message that a copy took over", `forge({"t": "resumed"})`),
  forges(
    "interrupt-answers",
    "answers to interrupts that nobody sent",
    `[forge({"t": kind}) for kind in ("noticed", "calmed") for _ in range(500)]`,
  ),
  forges(
    "copies",
    "copies of itself with the numbers of other processes",
    `[forge({"t": kind, "pid": pid, "run": "x"}) for kind in ("copied", "parked", "forked") for pid in (0, 1, 2, -1, "2", 10 ** 30, None, True)]`,
  ),
  forges(
    "unknown-status",
    "an end with a status that does not exist",
    `forge({"t": "done", "id": run_id, "status": "root"})`,
  ),
  forges("object-status", "an end whose status is an object", `forge({"t": "done", "id": run_id, "status": {}})`),
  forges(
    "exit-code",
    "an end with an exit code out of range",
    `forge({"t": "done", "id": run_id, "status": "ok", "exitCode": 300})`,
  ),
  forges(
    "incomplete-error",
    "an end with half an error",
    `forge({"t": "done", "id": run_id, "status": "error", "error": {"name": 3}})`,
  ),
  forges(
    "deep-status",
    "an end nested too deep to encode again",
    `forge(b'{"t":"done","id":%d,"status":' % run_id + b"[" * 900 + b"]" * 900 + b"}")`,
  ),
  forges("deep-json", "a message nested too deep to decode", `forge(b"[" * 150_000)`),
  forges("long-number", "a number of a hundred thousand digits", `forge(b'{"t":"done","id":' + b"9" * 100_000 + b"}")`),
  forges("text-number", "a number that is a text", `forge({"t": "done", "id": str(run_id), "status": "ok"})`),
  forges(
    "not-an-object",
    "messages that are not objects",
    `[forge(one) for one in ([1, 2], b"null", b"", b"{", b"\\xff\\xfe")]`,
  ),
  forges(
    "strange-kind",
    "messages without a kind, or with an object for one",
    `[forge(one) for one in ({"t": {}, "id": run_id}, {"t": [], "id": run_id}, {"id": run_id}, {"t": "__proto__", "id": run_id})]`,
  ),
  forges("half-display", "a picture without its fields", `forge({"t": "display", "id": run_id})`),
  forges(
    "not-a-number",
    "a picture whose number is NaN or infinite",
    `[forge(b'{"t":"display","id":%d,"display":%s,"mime":"a","more":false}' % (run_id, one)) for one in (b"NaN", b"Infinity", b"1e999")]`,
  ),
  forges(
    "growing-text",
    "text that grows when it is encoded again",
    `[forge(b'{"t":"display","id":%d,"display":1,"more":false,"mime":"' % run_id + "\\u00e9".encode() * 90_000 + b'"}'), forge(b'{"t":"done","id":%d,"status":"ok","result":"' % run_id + b"\\x7f" * 150_000 + b'"}')]`,
  ),
  forges("stray-data", "data that nobody asked for", `forge({"t": "data", "id": run_id}, bytes(100_000))`),
  forges(
    "stray-reply",
    "answers to requests of other runs",
    `[forge({"t": "reply", "id": one, "ok": True}) for one in (run_id, run_id + 1, run_id - 1, 2 ** 32 + 1, 0, -1)]`,
  ),
  forges(
    "end-of-another-run",
    "the end of runs that are not its own",
    `[forge({"t": "done", "id": one, "status": "ok", "result": "forged"}) for one in (run_id + 1, run_id + 2, run_id - 1, 0, 2 ** 53)]`,
  ),
  forges(
    "credit",
    "credit and output, which only the supervisor sends",
    `[forge({"t": "credit", "id": run_id, "bytes": 2 ** 60}), forge({"t": "out", "id": run_id, "stream": "stdout"}, b"x"), forge({"t": "net.open", "id": 7}), forge({"t": "net.data", "id": 7}, b"x"), forge({"t": "lost", "state": "lost", "notes": []}), forge({"t": "gone", "name": "x"})]`,
  ),
  forges(
    "huge-numbers",
    "sizes that no machine has",
    `forge({"t": "done", "id": run_id + 1, "status": "ok", "state": "kept", "stdoutBytes": 2 ** 70, "cpuUs": 2 ** 80, "peakBytes": -1})`,
  ),
  forges(
    "prototype",
    "fields that would change every object of the host",
    `forge(b'{"t":"reply","id":%d,"ok":true,"__proto__":{"isAdmin":true},"constructor":{"prototype":{"x":1}}}' % run_id)`,
  ),
  forges(
    "long-header",
    "a packet whose header is longer than the packet",
    `is_wasm or os.writev(_worker.replies, [_worker.token, (2 ** 32 - 1).to_bytes(4, "little"), b"{}"])`,
    { notTried: { wasm: "messages have no lengths of their own" } },
  ),
  forges(
    "no-token",
    "packets without the token that proves who sent them",
    `[os.write(_worker.replies, os.urandom(n)) for n in (1, 16, 19, 20, 21, 60_000)]`,
    { notTried: { wasm: "messages have no token: they are calls of JavaScript" } },
  ),
  {
    ...does(
      "protocol/every-descriptor",
      "writes half a message to every descriptor it has",
      `
for fd in range(3, 256):
    for data in (b"\\0" * 64, b'{"t":"ready"}', (4 << 20).to_bytes(4, "little") * 2):
        try: os.set_blocking(fd, False); os.write(fd, data)
        except OSError: pass
verdict = "contained"`,
      message,
    ),
    endings: ["error", "crashed", "timeout"],
    needsOwnCell: true,
  },
  {
    ...does(
      "protocol/file-names",
      "forges a list of changed files with names outside of the workspace",
      `${forging}
names = ["../../etc/passwd", "/etc/passwd", "a/../../b", "", ".", "..", "\\0", "x" * 5000, "a\\nb", "\\x1b[2J", "con", "C:\\\\x"]
quietly(lambda: forge({"t": "done", "id": run_id, "status": "ok", "state": "kept", "files": [{"path": one, "size": 1, "modifiedMs": 1} for one in names]}))
time.sleep(0.1)
verdict = "contained"`,
      message,
    ),
    // on WebAssembly the forged end is the end of the run, before its verdict
    needsOwnCell: true,
  },
];
