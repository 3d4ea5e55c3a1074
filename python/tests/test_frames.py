import json
import os
import random
import unittest

from codecell_kernel.shared.frames import MAX_FRAME, BadFrame, Decoder, head

FIXTURES = os.path.join(os.path.dirname(__file__), "..", "..", "test", "fixtures", "kernel", "frames.json")


def fixtures():
    with open(FIXTURES, encoding="utf-8") as file:
        return json.load(file)


class Frames(unittest.TestCase):
    def test_frames_are_encoded_and_decoded_as_on_the_host(self):
        for one in fixtures():
            with self.subTest(one["name"]):
                body = bytes.fromhex(one["bodyHex"])
                frame = bytes.fromhex(one["frameHex"])
                self.assertEqual(head(one["header"], len(body)) + body, frame)
                self.assertEqual([(h, bytes(b), bytes(f)) for h, b, f in Decoder().feed(frame)], [(one["header"], body, frame)])

    def test_a_stream_that_arrives_byte_by_byte_is_decoded(self):
        stream = b"".join(bytes.fromhex(one["frameHex"]) for one in fixtures())
        decoder, headers = Decoder(), []
        for at in range(len(stream)):
            headers += [header for header, _, _ in decoder.feed(stream[at : at + 1])]
        self.assertEqual(headers, [one["header"] for one in fixtures()])

    def test_lengths_out_of_bounds_are_rejected(self):
        for length, header_length in ((MAX_FRAME + 1, 2), (10, 7), (3, 0)):
            with self.subTest(length=length), self.assertRaises(BadFrame):
                Decoder().feed(length.to_bytes(4, "little") + header_length.to_bytes(4, "little"))

    def test_a_frame_that_the_host_would_reject_is_not_sent(self):
        with self.assertRaises(BadFrame):
            head({"t": "data"}, MAX_FRAME)

    def test_a_header_that_cannot_be_read_is_rejected(self):
        for text in (b"", b"{", b"[1]", b"null", b'"t"', b"\xff", b"[" * 100_000, b"9" * 100_000):
            with self.subTest(text[:8]), self.assertRaises(BadFrame):
                Decoder().feed((4 + len(text)).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text)


class MutatedFrames(unittest.TestCase):
    """The same seed each time; FUZZ_RUNS makes them as many times more."""

    def mutated(self, chance, honest):
        data = bytearray(chance.choice(honest))
        for _ in range(chance.randrange(4)):
            at, kind = chance.randrange(len(data) + 1), chance.randrange(5)
            if kind == 0 and at < len(data):
                data[at] ^= 1 << chance.randrange(8)
            elif kind == 1:
                data[at:at] = bytes(chance.randrange(256) for _ in range(3))
            elif kind == 2:
                del data[at : at + 3]
            elif kind == 3:
                data[at : at + 4] = chance.choice((0, 1, 0xFFFF, 1 << 22, (1 << 32) - 1)).to_bytes(4, "little")
            else:
                data += chance.choice(honest)
        return bytes(data)

    def decoded(self, pieces, partial=()):
        decoder, seen = Decoder(partial), []
        try:
            for piece in pieces:
                seen += [(header, bytes(body)) for header, body, _ in decoder.feed(piece)]
                if partial and decoder.take_missing():
                    return seen, decoder  # the caller reads the rest of this body itself
        except BadFrame:
            seen.append("bad")
        return seen, decoder

    def test_mutated_frames_are_decoded_or_rejected_and_the_pieces_they_come_in_do_not_matter(self):
        honest = [bytes.fromhex(one["frameHex"]) for one in fixtures()]
        for number in range(1500 * int(os.environ.get("FUZZ_RUNS", "1"))):
            chance = random.Random(number)
            stream = self.mutated(chance, honest)
            size = chance.randrange(1, 40)
            whole, decoder = self.decoded([stream])
            pieces, _ = self.decoded([stream[at : at + size] for at in range(0, len(stream), size)])
            if whole[-1:] == ["bad"]:  # frames before the bad one are lost if they arrive together with it
                self.assertEqual(pieces[-1], "bad", number)
            else:
                self.assertEqual(whole, pieces, number)
            self.assertLessEqual(len(decoder.buffer), len(stream))
            self.decoded([stream], partial=("out", "x"))


if __name__ == "__main__":
    unittest.main()
