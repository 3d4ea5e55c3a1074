"""The socket on which programs of the cell find their proxy, and its way to the host before any user code exists.

A socket keeps the network namespace that it was made in: the host accepts the cell's connections itself, and none of
their bytes passes through this process.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import _socket

HOST, PORT = "127.0.0.1", 3128
BACKLOG = 128
MESSAGE = '{"cmd":"NODE_HANDLE","type":"net.Native","msg":{"t":"listener","ticket":"%s"}}\n'


def listen():
    """Nobody in the cell can take its place: it is there before they are, and goes when all of them are gone."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    listener.setblocking(False)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind((HOST, PORT))
    listener.listen(BACKLOG)
    return listener


def listen_for_host(messages, ticket):
    """Listens, and sends the socket along: one message, one descriptor, and `messages`, the way to the host, is closed.

    Whether it arrived is the host's to say. The caller keeps the listener until then.
    """
    listener = listen()
    descriptor = listener.fileno().to_bytes(4, "little")
    channel = _socket.socket(fileno=messages)
    try:
        ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptor)]
        channel.sendmsg([(MESSAGE % ticket).encode()], ancillary, _socket.MSG_DONTWAIT)
    except OSError:
        pass  # the host finds that nothing came
    finally:
        channel.close()
    return listener
