/** The start of a Python attack by system calls: `call(number, …)` returns the errno, or 0 if the call succeeded. */
export const systemCalls = `
import ctypes, os, json
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) if isinstance(a, int) else a for a in args])
    return ctypes.get_errno() if result < 0 else 0
`;
