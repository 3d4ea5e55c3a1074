import type { Attack } from "../attack.ts";
import { does } from "./make-attack.ts";
import { noJavaScript } from "./shared-facts.ts";

const realm = {
  containedBy: { default: "an empty JavaScript context that never had these powers" },
  notTried: noJavaScript,
  control: { none: "a container has no JavaScript; test/escape/wasm-inner-realm.test.ts has the control" },
} as const;

/** Python: what a name in JavaScript leads to, or nothing. */
const looking = `
def names(*wanted):
    try: import js
    except ImportError: return []
    return [name for name in wanted if hasattr(js, name)]
def evaluate(text):
    try: from pyodide.code import run_js
    except ImportError: return None
    try: return run_js(text)
    except Exception: return None
`;

function tries(id: string, title: string, code: string): Attack {
  return does(`javascript/${id}`, title, `${looking}\n${code}`, realm);
}

/** WebAssembly cells run in JavaScript, which must not be a way out. */
export const javaScriptAttacks: readonly Attack[] = [
  tries("process", "reaches Node's process object", `verdict = nothing(names("process", "global", "Buffer"))`),
  tries("modules", "loads a module of Node", `verdict = nothing(names("require", "module", "importScripts"))`),
  tries(
    "network",
    "uses the network of JavaScript",
    `verdict = nothing(names("fetch", "XMLHttpRequest", "WebSocket", "EventSource", "Worker", "BroadcastChannel"))`,
  ),
  tries(
    "evaluate",
    "runs JavaScript that asks for the process",
    `verdict = unless(evaluate("typeof process === 'object' ? 'yes' : ''") == "yes", "saw the process")`,
  ),
  tries(
    "constructor",
    "makes a function in the outer context through a constructor",
    `verdict = unless(evaluate("(() => { try { return this.constructor.constructor('return typeof process')() } catch { return '' } })()") == "object", "saw the process")`,
  ),
  tries(
    "dynamic-import",
    "imports node:fs from JavaScript",
    `
try:
    from pyodide.code import run_js
    module = await_it = None
    promise = run_js("import('node:fs')")
    verdict = unless(hasattr(promise, "readFileSync"), "has node:fs")
except Exception: verdict = "contained"`,
  ),
  tries(
    "open-url",
    "fetches a page of the host through the interpreter's own functions",
    `
try:
    from pyodide.http import open_url
    open_url("http://127.0.0.1:%d/" % host["port"])
except BaseException: pass
verdict = "contained" # the host says whether it was reached`,
  ),
  tries(
    "native-files",
    "mounts a directory of the host through the interpreter's own functions",
    `
found = []
try:
    import pyodide_js
    for name in ("mountNodeFS", "mountNativeFS"):
        try: getattr(pyodide_js, name)("/tmp/host", host["directories"][0]); found += os.listdir("/tmp/host")
        except BaseException: pass
    try:
        pyodide_js.FS.mkdir("/tmp/nodefs"); pyodide_js.FS.mount(pyodide_js.FS.filesystems.NODEFS, {"root": "/"}, "/tmp/nodefs"); found += os.listdir("/tmp/nodefs")
    except BaseException: pass
except ImportError: pass
verdict = nothing(found, "saw")`,
  ),
];
