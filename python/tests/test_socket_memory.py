import socket
import sys
import unittest

if sys.platform == "linux":
    from codecell_kernel.measure.socket_memory import open_socket_memory


def fill(one):
    """Sends until nothing fits. Returns how many bytes that were."""
    one.setblocking(False)
    sent = 0
    try:
        while True:
            sent += one.send(bytes(1 << 16))
    except BlockingIOError:
        return sent


@unittest.skipUnless(sys.platform == "linux", "only Linux lists its sockets")
class MemoryOfSockets(unittest.TestCase):
    """Other programs on this machine have sockets too, so only growth is compared, and less is expected than was sent."""

    def setUp(self):
        self.memory = open_socket_memory()
        if self.memory is None:
            self.skipTest("this OS does not list its sockets")
        self.addCleanup(self.memory.netlink.close)

    def test_what_a_unix_socket_has_sent_counts_until_it_is_read(self):
        ours, theirs = socket.socketpair()
        with ours, theirs:
            before = self.memory.unix()[1]
            sent = fill(ours)
            self.assertGreater(self.memory.unix()[1] - before, sent // 2)

    def test_a_closed_unix_socket_still_counts_while_its_data_waits(self):
        before = self.memory.unix()[1]
        ours, theirs = socket.socketpair()
        with theirs:
            sent = fill(ours)
            ours.close()
            self.assertGreater(self.memory.unix()[1] - before, sent // 2)

    def test_a_connection_counts_before_it_is_accepted(self):
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            before = self.memory.internet_bytes(0)
            sent = fill(client)
            self.assertGreater(self.memory.internet_bytes(0) - before, sent // 2)

    def test_sockets_are_not_listed_if_they_cannot_hold_what_may_be_ignored(self):
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
            fill(client)
            self.assertEqual(self.memory.internet_bytes(1 << 62), 0)

    def test_sockets_that_the_os_does_not_list_count_as_a_megabyte_each(self):
        self.memory.netlink.close()  # each request fails, as where an engine refuses netlink
        counts = {"sockets:": 5, "TCP:": 3}
        self.assertEqual(self.memory.internet(counts), (3, 3 << 20))
        self.assertEqual(self.memory.unix(), (0, 0))


if __name__ == "__main__":
    unittest.main()
