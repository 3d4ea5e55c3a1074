/**
 * Python for a weak container: reads jobs from standard input, one JSON text per line, and answers each with one. Programs
 * run in a process of their own with the same rights.
 */
export const weakDriver = `
import gc, glob, json, os, select, signal, socket, sys, threading, time, zlib
import ctypes, fcntl, mmap, resource, site, stat, subprocess

class Worker:
    """What a forging program looks for in its memory."""

def supervised():
    """A messenger whose supervisor believes what it reads, whoever sent it."""
    near, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    near.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    worker = Worker()
    worker.near, worker.far, worker.believed, worker.fault = near, far, 0, ""
    worker.replies, worker.requests, worker.token = near.fileno(), os.pipe()[0], b"t" * 16
    def supervise():
        while True:
            packet = far.recv(1 << 20)
            if not packet: return
            try:
                json.loads(packet[20:20 + int.from_bytes(packet[16:20], "little")])["t"]
                worker.believed += 1
            except Exception as error: worker.fault = repr(error)[:100]
    threading.Thread(target=supervise, daemon=True).start()
    return worker

def child(body):
    """(pid, its output, its input): a process that runs the body."""
    reader, out = os.pipe(); stdin, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(out); os.close(stdin)
        return pid, reader, writer
    os.setsid(); os.close(reader); os.close(writer)
    if os.environ.get("OWN_MOUNTS"): # what one attack mounts must not hide what the next one looks for
        libc = ctypes.CDLL(None); libc.unshare(0x20000); libc.mount(b"none", b"/", None, 0x44000, None)
    os.dup2(stdin, 0); os.dup2(out, 1); os.dup2(out, 2)
    os.close(stdin); os.close(out)
    sys.stdin = open(0, closefd=False); os.chdir("/workspace")
    code = 1
    try: body(); code = 0
    except BaseException as error: print("\\\\n%s: %s" % (type(error).__name__, str(error)[:500]))
    finally:
        try: sys.stdout.flush()
        except BaseException: pass
        os._exit(code)

KEPT = 2_000_000
def end_of(pid, reader, seconds, waits=False):
    """(what it printed last, how it ended): it is killed if it takes too long. One that waits may live on."""
    kept, end, status = bytearray(), time.monotonic() + seconds, None
    def take(data):
        kept.extend(data)
        if len(kept) > 4 * KEPT: del kept[:-KEPT]
        return len(data)
    while status is None and not (waits and kept.endswith(b"\\\\nwaits\\\\n")):
        if select.select([reader], [], [], 0.01)[0] and take(os.read(reader, 1 << 20)): continue
        done, code = os.waitpid(pid, os.WNOHANG)
        if done: status = code
        elif time.monotonic() > end: os.kill(pid, 9); take(b"\\\\nit took too long"); end += 60
    while select.select([reader], [], [], 0)[0] and take(os.read(reader, 1 << 20)): pass
    return kept[-KEPT:].decode(errors="replace"), status

def execute(texts, isTrusting, waits):
    space = {"__name__": "__main__", "__builtins__": __builtins__}
    if isTrusting: worker = supervised()
    for text in texts: exec(compile(text, "<run 1>", "exec"), space)
    if isTrusting:
        time.sleep(0.05)
        print("\\\\nbelieved %d %s" % (worker.believed, worker.fault))
    if waits: print("\\\\nwaits", flush=True); os.read(0, 1) # it holds what it took until the victim has tried

def run(job):
    victim = None
    if "victim" in job:
        def both():
            space = {"__name__": "__main__"}
            exec(compile(job["victim"]["before"], "victim", "exec"), space)
            print("\\\\nready", flush=True)
            os.read(0, 1)
            exec(compile(job["victim"]["after"], "victim", "exec"), space)
        victim = child(both)
        said = b""
        while b"\\\\nready" not in said:
            data = os.read(victim[1], 65536)
            said += data
            if not data: break
    if job.get("shell"):
        pid, reader, writer = child(lambda: (sys.stdout.flush(), os.execv("/bin/bash", ["bash", "-c", job["shell"]])))
    else: pid, reader, writer = child(lambda: execute(job["programs"], job.get("isTrusting"), victim is not None))
    printed, status = end_of(pid, reader, 10, victim is not None)
    answer = None
    if victim is not None:
        try: os.write(victim[2], b"x")
        except OSError: pass
        text, ended = end_of(victim[0], victim[1], 5)
        os.close(victim[1]); os.close(victim[2])
        answer = text if ended == 0 else None
    os.close(writer)
    if status is None: end_of(pid, reader, 2)
    os.close(reader)
    survivors = 0
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file: command = file.read()
            if job["mine"].encode() in command: survivors += 1; os.kill(int(path.split("/")[2]), 9)
        except OSError: continue
    return {"printed": printed, "victim": answer, "survivors": survivors}

def serve(one):
    """A proxy without rules: every name leads to loopback, every file may be read."""
    try:
        data = one.recv(65536)
        if data[:1] == b"\\\\x05":
            one.sendall(b"\\\\x05\\\\x00"); data = one.recv(1024)
            kind, command = data[3], data[1]
            port = int.from_bytes(data[-2:], "big")
            if command == 1: upstream = socket.create_connection(("127.0.0.1", port), 2)
            one.sendall(b"\\\\x05\\\\x00\\\\x00\\\\x01" + bytes(6)); return
        if data[:1] == b"\\\\x04":
            upstream = socket.create_connection(("127.0.0.1", int.from_bytes(data[2:4], "big")), 2)
            one.sendall(b"\\\\x00\\\\x5a" + bytes(6)); return
        method, target, rest = data.split(b" ", 2)
        if method == b"CONNECT":
            upstream = socket.create_connection(("127.0.0.1", int(target.rsplit(b":", 1)[1])), 2)
            one.sendall(b"HTTP/1.1 200 OK\\\\r\\\\n\\\\r\\\\n"); return
        if not target.startswith(b"http://"):
            one.sendall(b"HTTP/1.1 200 OK\\\\r\\\\nConnection: close\\\\r\\\\n\\\\r\\\\nhello"); return
        port = target[7:].split(b"/")[0].rsplit(b":", 1)[1]
        if port == b"3128": one.sendall(b"HTTP/1.1 200 OK\\\\r\\\\nConnection: close\\\\r\\\\n\\\\r\\\\nhello"); return
        upstream = socket.create_connection(("127.0.0.1", int(port)), 2)
        path = b"/" + target[7:].partition(b"/")[2]
        upstream.sendall(method + b" " + path + b" " + rest); upstream.settimeout(0.3)
        while True:
            answer = upstream.recv(65536)
            if not answer: return
            one.sendall(answer)
    except OSError: pass
    finally: one.close()

def listening():
    server = socket.socket(); server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", 3128)); server.listen(50)
    return server

def proxy(server):
    while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

for place in ("/.kernel", "/run", "/opt", "/home", "/mnt", "/srv", "/var/tmp", "/var/lib", "/tmp"):
    try: os.makedirs(place, exist_ok=True)
    except OSError: pass
if os.environ.get("OPEN_PROXY"):
    server = listening() # before the fork: the first job must not find a proxy that does not listen yet
    if os.fork() == 0: proxy(server)
    server.close()
for line in sys.stdin:
    try: answer = run(json.loads(line))
    except Exception as error: answer = {"printed": "the driver failed: %r" % error, "victim": "", "survivors": 0}
    print(json.dumps(answer), flush=True)
`.replaceAll("\\\\", "\\");
