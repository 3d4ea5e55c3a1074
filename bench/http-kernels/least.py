# The minimal kernel over HTTP: one kept-alive connection, a request per run, exec in one namespace.
import contextlib
import io
import json
import os
import socketserver
from http.server import BaseHTTPRequestHandler

NAMESPACE = {"__name__": "__main__"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        code = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["code"]
        out, status = io.StringIO(), "ok"
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            try:
                exec(compile(code, "<run>", "exec"), NAMESPACE)
            except BaseException as error:
                status = repr(error)
        body = json.dumps({"status": status, "output": out.getvalue()}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


path = "/run/kernel/http.sock"
server = Server(path, Handler)
os.chmod(path, 0o666)
print("ready", flush=True)
server.serve_forever()
