"""Runs a server for as long as its parent lives: `keeper.py DIRECTORY COMMAND…`. Not imported, so it stays small.

Standard input is a pipe from the parent. The pipe closes when the parent ends in any way, SIGKILL included. Then the server is
ended, and its private directory is removed.
"""
import os
import shutil
import signal
import subprocess
import sys
import threading

GRACE_SECONDS = 15


def main() -> None:
    directory, command = sys.argv[1], sys.argv[2:]
    try:
        server = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    except OSError as error:
        print("cannot start %s: %s" % (command[0], error.strerror), file=sys.stderr)
        shutil.rmtree(directory, ignore_errors=True)
        sys.exit(127)
    os.close(1)  # only the server holds it: its end is the end of the output
    signal.signal(signal.SIGTERM, lambda _number, _frame: server.terminate())
    threading.Thread(target=watch, args=(server,), daemon=True).start()
    code = server.wait()
    shutil.rmtree(directory, ignore_errors=True)
    os._exit(code & 255)


def watch(server: "subprocess.Popen[bytes]") -> None:
    while os.read(0, 4096):
        pass
    server.terminate()
    try:
        server.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()


if __name__ == "__main__":
    main()
