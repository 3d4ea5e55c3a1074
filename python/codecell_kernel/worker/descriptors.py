"""Passes descriptors between the worker and the supervisor."""
from ..shared.pristine import BUILTINS as __builtins__  # noqa: A001
import posix

from ..shared.pass_descriptors import pass_descriptors


def receive_descriptors(fd, count):
    import _socket

    end = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, posix.dup(fd))
    try:
        _, ancillary, _, _ = end.recvmsg(16, _socket.CMSG_SPACE(4 * count))
        data = ancillary[0][2]
        return [int.from_bytes(data[at : at + 4], "little") for at in range(0, 4 * count, 4)]
    finally:
        end.close()


def discard_descriptors(fd):
    """Closes descriptors that were passed to a worker that died before it received them."""
    import _socket

    end = None
    try:
        end = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, posix.dup(fd))
        while True:
            data, ancillary, _, _ = end.recvmsg(16, _socket.CMSG_SPACE(64), _socket.MSG_DONTWAIT)
            if not data:
                break
            for _, _, passed in ancillary:
                for at in range(0, len(passed), 4):
                    posix.close(int.from_bytes(passed[at : at + 4], "little"))
    except OSError:
        pass  # nothing is left, or user code has replaced the socket
    finally:
        if end is not None:
            end.close()


def send_descriptor(fd, passed):
    """Sends one byte, with a descriptor if there is one."""
    import _socket

    end = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, posix.dup(fd))
    if passed < 0:
        end.send(b"g")
    else:
        pass_descriptors(end, b"g", [passed])
        posix.close(passed)
    end.close()
