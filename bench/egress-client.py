"""Downloads through a proxy. The same program runs in a cell and on the host, so that only the network path differs."""
import socket
import time

BUFFER = memoryview(bytearray(256 << 10))


def open_tunnel(proxy, target):
    connection = socket.create_connection(("127.0.0.1", proxy))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.sendall(b"CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, target))
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(4096)
        if not piece:
            raise OSError("the proxy hung up")
        answer += piece
    if b" 200 " not in answer:
        raise OSError(answer.decode())
    return connection


def ask(connection, path):
    """Sends a request. Returns how many bytes of the body arrived with the headers, and the length of the body."""
    connection.sendall(b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n" % path)
    head = b""
    while b"\r\n\r\n" not in head:
        head += connection.recv(4096)
    begin, _, rest = head.partition(b"\r\n\r\n")
    return len(rest), int(begin.rsplit(b" ", 1)[1])


def fetch(connection, path):
    count, size = ask(connection, path)
    while count < size:
        got = connection.recv_into(BUFFER)
        if not got:
            raise OSError("cut after %d bytes" % count)
        count += got
    return count


def throughput(proxy, target, size):
    """Megabytes per second of one download."""
    with open_tunnel(proxy, target) as connection:
        began = time.perf_counter()
        count = fetch(connection, b"%d" % size)
        return count / (time.perf_counter() - began) / 1e6


def new_connections(proxy, target, count):
    """Milliseconds for each new tunnel with a small request in it."""
    took = []
    for _ in range(count):
        began = time.perf_counter()
        with open_tunnel(proxy, target) as connection:
            fetch(connection, b"100")
        took.append((time.perf_counter() - began) * 1000)
    return took


def flood(proxy, target, unread, full):
    """Opens unread connections, one that stops reading, and downloads at full speed. Never returns."""
    import os
    import threading

    os.nice(19)  # the measured runs must compete for the network, not for the CPU

    def download():
        fetch(open_tunnel(proxy, target), b"endless")

    def read_a_little():
        connection = open_tunnel(proxy, target)
        ask(connection, b"endless")
        for _ in range(64):
            connection.recv_into(BUFFER)
        return connection

    held = [read_a_little()]
    for _ in range(unread):
        connection = open_tunnel(proxy, target)
        connection.sendall(b"GET /endless HTTP/1.1\r\nHost: x\r\n\r\n")
        held.append(connection)
    for _ in range(full):
        threading.Thread(target=download, daemon=True).start()
    print("flooding", flush=True)
    time.sleep(3600)
