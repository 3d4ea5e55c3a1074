/**
 * Python that finds the interpreter's own messenger in its memory, as any program can, and speaks in its name. `run_id` is
 * the number of the run that it is in. On WebAssembly the messenger is another object with the same powers.
 */
export const forging = `
import gc, threading, time
_worker = next(one for one in gc.get_objects() if type(one).__name__ in ("Worker", "WasmKernel"))
_frame = sys._getframe()
while _frame is not None and not _frame.f_code.co_filename.startswith("<run "): _frame = _frame.f_back
run_id = int(_frame.f_code.co_filename.strip("<run >")) if _frame else 1
is_wasm = not hasattr(_worker, "token")
def forge(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    if is_wasm: _worker.send_to_host(text.decode(errors="replace"), sys.modules["pyodide.ffi"].to_js(body) if body else None)
    else: os.writev(_worker.replies, [_worker.token, len(text).to_bytes(4, "little"), text, body])
def quietly(action):
    """What JavaScript refuses at once is no less refused."""
    try: action()
    except Exception as error: print(type(error).__name__)
`;
