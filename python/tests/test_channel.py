import os
import unittest

from codecell_kernel.supervisor.channel import Outlet


class Outlets(unittest.TestCase):
    def setUp(self):
        self.reader, writer = os.pipe()
        self.outlet = Outlet(writer)
        self.addCleanup(os.close, self.reader)
        self.addCleanup(os.close, writer)

    def test_a_piece_that_is_written_at_once_is_not_queued(self):
        self.outlet.write(b"one piece")
        self.assertEqual((self.outlet.size, self.outlet.waiting), (0, []))
        self.assertEqual(os.read(self.reader, 100), b"one piece")

    def test_bytes_that_do_not_fit_are_queued_and_keep_their_order(self):
        sent = b"".join(b"%07d " % number for number in range(20_000))
        self.outlet.write(sent)
        self.assertEqual(self.outlet.size, len(sent) - 65536)
        self.outlet.write(b"later")
        self.outlet.write(b"head, ", b"body")
        received = b""
        while self.outlet.size:
            received += os.read(self.reader, 65536)
            self.outlet.flush()
        received += os.read(self.reader, 65536)
        self.assertEqual(received, sent + b"laterhead, body")

    def test_a_full_pipe_loses_no_bytes(self):
        self.outlet.write(b"x" * 65536)
        self.outlet.write(b"y" * 10)
        self.assertEqual(self.outlet.size, 10)
        os.read(self.reader, 65536)
        self.outlet.flush()
        self.assertEqual(os.read(self.reader, 100), b"y" * 10)

    def test_writing_to_a_dead_reader_raises_unless_the_reader_may_die(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.addCleanup(os.close, writer)
        with self.assertRaises(BrokenPipeError):
            Outlet(writer).write(b"x")
        mortal = Outlet(writer, reader_may_die=True)
        mortal.write(b"x")
        self.assertEqual(mortal.size, 0)


if __name__ == "__main__":
    unittest.main()
