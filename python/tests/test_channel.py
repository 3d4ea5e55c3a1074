import os
import unittest

from codecell_kernel.supervisor.channel import Outlet


class Outlets(unittest.TestCase):
    def setUp(self):
        self.reader, writer = os.pipe()
        self.outlet = Outlet(writer)
        self.addCleanup(os.close, self.reader)
        self.addCleanup(os.close, writer)

    def test_a_piece_that_goes_at_once_is_not_kept(self):
        self.outlet.write(b"one piece")
        self.assertEqual((self.outlet.size, self.outlet.waiting), (0, []))
        self.assertEqual(os.read(self.reader, 100), b"one piece")

    def test_what_does_not_fit_waits_and_goes_before_what_comes_later(self):
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

    def test_a_full_reader_takes_nothing_and_loses_nothing(self):
        self.outlet.write(b"x" * 65536)
        self.outlet.write(b"y" * 10)
        self.assertEqual(self.outlet.size, 10)
        os.read(self.reader, 65536)
        self.outlet.flush()
        self.assertEqual(os.read(self.reader, 100), b"y" * 10)

    def test_a_dead_reader_is_told_unless_it_may_die(self):
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
