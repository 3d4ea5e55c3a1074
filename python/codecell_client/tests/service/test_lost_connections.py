"""Connections that are cut between the client and the service."""
from __future__ import annotations

from typing import List, Optional

import codecell

from .support import Relay, ServiceCase


class LostConnectionsTest(ServiceCase):
    def test_events_continue_where_they_were_after_each_cut(self) -> None:
        cuts: List[int] = []

        def cut(number: int, data: bytes) -> Optional[int]:
            # Each connection with events is cut in the middle of one, three times.
            if b"event: stdout" in data and len(cuts) < 3 and number not in cuts:
                cuts.append(number)
                return data.index(b"event: stdout") + 20
            return None

        with Relay(self.server.url, cut) as relay, codecell.connect(relay.url, self.server.token) as box:
            session = box.session()
            run = session.start("for i in range(50): print(i, flush=True)")
            text = "".join(one.text for one in run if isinstance(one, codecell.Output))
            self.assertEqual(text, "".join("%d\n" % one for one in range(50)))
            self.assertEqual(len(cuts), 3)
            self.assertTrue(run.result().ok)
            session.close(forget=True)

    def test_code_whose_start_was_not_confirmed_runs_once(self) -> None:
        lost: List[int] = []

        def cut(number: int, data: bytes) -> Optional[int]:
            if not lost and b'"run_id"' in data:
                lost.append(number)
                return 10
            return None

        with Relay(self.server.url, cut) as relay, codecell.connect(relay.url, self.server.token) as box:
            session = box.session()
            session.set("count", 0)
            self.assertEqual(session.run("count += 1\ncount").value, "1")
            starts = [one for one in relay.requests if b"/runs HTTP/1.1" in one and one.startswith(b"POST")]
            self.assertEqual((len(lost), len(starts)), (1, 2))
            self.assertEqual(session.get("count"), 1)
            session.close(forget=True)

    def test_a_download_that_is_cut_leaves_the_local_file_as_it_was(self) -> None:
        session = self.session()
        session.upload("big.bin", b"x" * 1_000_000)
        target = self.directory / "big.bin"
        target.write_bytes(b"before")
        passed: List[int] = []

        def cut(number: int, data: bytes) -> Optional[int]:
            passed.append(len(data))
            return 100 if sum(passed) > 300_000 else None

        with Relay(self.server.url, cut) as relay, codecell.connect(relay.url, self.server.token) as box:
            with self.assertRaises(codecell.Unreachable):
                box.session(session.id).download("big.bin", target)
        self.assertEqual(target.read_bytes(), b"before")
        self.assertEqual([one.name for one in self.directory.iterdir()], ["big.bin"])
