import errno
import os
import select
import signal
import socket
import struct
import time
import unittest
from fcntl import ioctl

from codecell_kernel.shared import system
from codecell_kernel.supervisor import kill_guard

LOAD_NUMBER, IF_EQUAL, ANSWER = 0x20, 0x15, 0x06
NOTIFY, ALLOW = 0x7FC00000, 0x7FFF0000
KILL = {"x86_64": 62, "aarch64": 129}.get(os.uname().machine)


def reports_kill():
    """A filter that reports kill(2) and allows every other call."""
    program = [(LOAD_NUMBER, 0, 0, 0), (IF_EQUAL, 0, 1, KILL), (ANSWER, 0, 0, NOTIFY), (ANSWER, 0, 0, ALLOW)]
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def release():
    return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2])


@unittest.skipIf(KILL is None, "no filter for this machine")
class ReportingFilter(unittest.TestCase):
    @unittest.skipIf(release() < (5, 19), "Linux interrupts reported calls before 5.19")
    def test_a_signal_does_not_interrupt_a_call_that_the_listener_has_read(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            child = os.fork()
            if child == 0:
                os._exit(caller(theirs))
            self.addCleanup(reap, child)
            theirs.close()
            _, fds, _, _ = socket.recv_fds(ours, 1, 1)
            self.addCleanup(os.close, fds[0])
            self.assertTrue(select.select(fds, [], [], 20)[0], "the call was not reported")
            report = bytearray(80)
            ioctl(fds[0], kill_guard.RECEIVE, report)
            os.kill(child, signal.SIGUSR1)
            time.sleep(0.1)
            try:
                ioctl(fds[0], kill_guard.SEND, kill_guard.RESPONSE.pack(struct.unpack_from("<Q", report)[0], 0, 0, kill_guard.CONTINUE))
            except FileNotFoundError:
                pass  # the call was interrupted
            self.assertEqual(ours.recv(100), b"not interrupted, handled 1")

    def test_linux_without_the_flag_gets_the_filter_without_it(self):
        tried = []

        def refuse_new_flag(_, arguments):
            tried.append(arguments[2])
            return 7 if arguments[2] == system.NEW_LISTENER else -1

        original, system._ctypes = system._ctypes, Calls(refuse_new_flag, system._ctypes.dlsym)
        try:
            self.assertEqual(system.add_reporting_filter(reports_kill()), 7)
        finally:
            system._ctypes = original
        self.assertEqual(tried, [system.NEW_LISTENER | system.WAIT_KILLABLE_RECV, system.NEW_LISTENER])


class Calls:
    def __init__(self, call_function, dlsym):
        self.call_function, self.dlsym = call_function, dlsym


def caller(channel):
    """The child: a call under the filter, with a handler that does not restart calls."""
    handled = []
    signal.signal(signal.SIGUSR1, lambda *_: handled.append(1))
    system.prctl(system.PR_SET_NO_NEW_PRIVS, 1)
    listener = system.add_reporting_filter(reports_kill())
    if listener < 0:
        return 1
    socket.send_fds(channel, [b"x"], [listener])
    os.close(listener)
    try:
        os.kill(os.getpid(), 0)
        said = "not interrupted"
    except OSError as error:
        said = errno.errorcode[error.errno]
    channel.sendall(("%s, handled %d" % (said, len(handled))).encode())
    return 0


def reap(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(pid, 0)
