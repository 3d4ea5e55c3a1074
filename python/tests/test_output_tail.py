import unittest

from codecell_kernel.supervisor.output_tail import JOIN_BYTES, MARKER_BYTES, OutputTail, tail_bytes, whole_characters


def parts(tail):
    """Bytes left out and bytes kept, by stream."""
    found = {}
    for name, skipped, piece in tail.parts():
        before = found.get(name, (0, b""))
        found[name] = (before[0] + skipped, before[1] + piece)
    return found


class Tails(unittest.TestCase):
    def test_output_within_the_limit_is_kept_whole(self):
        tail = OutputTail(13)
        for name, data in (("stdout", b"one"), ("stderr", b"warned"), ("stdout", b" two")):
            tail.add(name, data)
        self.assertEqual(parts(tail), {"stdout": (0, b"one two"), "stderr": (0, b"warned")})

    def test_the_longer_stream_loses_its_oldest_bytes(self):
        for size in (1, 9, 1000, JOIN_BYTES + 1):
            with self.subTest(size):
                tail, written = OutputTail(100_000), b""
                tail.add("stderr", b"warned")
                while len(written) < 300_000:
                    piece = (b"%d " % len(written) * size)[:size]
                    written += piece
                    tail.add("stdout", piece)
                    self.assertLess(tail.size, 100_000 + 2 * JOIN_BYTES)
                found = parts(tail)
                self.assertEqual(found["stderr"], (0, b"warned"))
                skipped, kept = found["stdout"]
                self.assertEqual(len(kept), 100_000 - 2 * MARKER_BYTES - 6)
                self.assertEqual(skipped + len(kept), len(written))
                self.assertTrue(written.endswith(kept))

    def test_a_piece_larger_than_the_limit_keeps_its_end(self):
        tail = OutputTail(100)
        tail.add("stdout", b"early")
        tail.add("stdout", bytes(1000) + b"late")
        skipped, kept = parts(tail)["stdout"]
        self.assertEqual((skipped + len(kept), len(kept)), (1009, 100 - MARKER_BYTES))
        self.assertTrue(kept.endswith(b"\0late"))

    def test_no_character_is_split(self):
        for limit in (100, 101, 102):
            tail = OutputTail(limit)
            tail.add("stdout", "漢".encode() * 100)
            skipped, kept = parts(tail)["stdout"]
            self.assertEqual(kept.decode(), "漢" * ((limit - MARKER_BYTES) // 3))
            self.assertEqual(skipped + len(kept), 300)
        self.assertEqual([whole_characters("a漢字b".encode(), size) for size in (3, 4, 5, 6)], [1, 4, 4, 4])
        self.assertEqual(whole_characters(b"\x80" * 9, 5), 5)

    def test_a_run_that_keeps_nothing_is_still_counted(self):
        tail = OutputTail(tail_bytes(1))
        tail.add("stdout", b"x")
        self.assertEqual(parts(tail), {"stdout": (1, b"")})


if __name__ == "__main__":
    unittest.main()
