import json
import os
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


if __name__ == "__main__":
    unittest.main()
