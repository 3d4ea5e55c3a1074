"""Opens the socket at which programs of the cell reach their proxy, and sends it to the host before any user code runs.

A socket stays in the network namespace in which it was created. So the host accepts the cell's connections itself, and none
of their bytes pass through this process.
"""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import _socket

from ..shared.pass_descriptors import pass_descriptors

HOST, PORT = "127.0.0.1", 3128
BACKLOG = 128
MESSAGE = '{"cmd":"NODE_HANDLE","type":"net.Native","msg":{"t":"listener","ticket":"%s"}}\n'


def listen():
    """No program of the cell can take its address: it exists before they do, and closes after all of them exited."""
    listener = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    listener.setblocking(False)
    listener.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    listener.bind((HOST, PORT))
    listener.listen(BACKLOG)
    return listener


def listen_for_host(messages, ticket):
    """Listens and sends the socket to the host: one message with one descriptor. Then closes `messages`, the channel for it.

    The host says whether it arrived. The caller keeps the listener until then.
    """
    listener = listen()
    channel = _socket.socket(fileno=messages)
    try:
        pass_descriptors(channel, (MESSAGE % ticket).encode(), [listener.fileno()], _socket.MSG_DONTWAIT)
    except OSError:
        pass  # the host notices that nothing arrived
    finally:
        channel.close()
    return listener
