"""A server to download from: `GET /N` returns N bytes, `GET /endless` never ends. Prints its port; exits when stdin ends."""
import socket
import sys
import threading

BLOCK = bytes(1 << 20)


def serve(client):
    try:
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = client.recv(65536)
                if not piece:
                    return
                head += piece
            path = head.split(b" ", 2)[1].rsplit(b"/", 1)[1]
            left = 1 << 60 if path == b"endless" else int(path)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % left)
            while left:
                count = min(left, len(BLOCK))
                client.sendall(memoryview(BLOCK)[:count])
                left -= count
    except OSError:
        pass  # the client disconnected
    finally:
        client.close()


def accept(listener):
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(client,), daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0), backlog=256)
print(listener.getsockname()[1], flush=True)
threading.Thread(target=accept, args=(listener,), daemon=True).start()
sys.stdin.read()
