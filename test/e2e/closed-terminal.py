"""Runs a command on a terminal of its own, types what it is told to, and closes the terminal. Prints how the command ended."""
import json
import os
import pty
import sys

steps = json.loads(sys.argv[1])  # pairs: text to wait for, text to type then
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
for awaited, typed in steps:
    while awaited.encode() not in seen:
        seen += os.read(terminal, 65536)
    seen = seen.rpartition(awaited.encode())[2]
    os.write(terminal, typed.encode())
os.close(terminal)
status = os.waitpid(pid, 0)[1]
print(json.dumps({"signal": os.WTERMSIG(status), "code": os.waitstatus_to_exitcode(status)}))
