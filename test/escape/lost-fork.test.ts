import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveSession } from "../../src/sessions/live-session.ts";
import type { LiveSessions } from "../../src/sessions/live-sessions.ts";
import { bothLayouts, describeAttacks, openCells, run, within } from "../support/process-cells.ts";

/** What a fork may do to itself. None of it may end the session that it was forked from. */
const deaths: readonly (readonly [string, string])[] = [
  ["a thousand long file names", "for n in range(1000): open('/workspace/%04d' % n + '\\U0001d400' * 60, 'w').close()"],
  ["closed descriptors", "import os\nfor fd in range(3, 1024):\n    try: os.close(fd)\n    except OSError: pass"],
  [
    "every descriptor in use, and a fork of it",
    "import os\nheld = []\ntry:\n    while True: held.append(os.dup(0))\nexcept OSError: pass",
  ],
];

describeAttacks(
  bothLayouts,
  "the parent of a fork in the $name",
  (layout) => {
    let codecell: LiveSessions;
    let parent: LiveSession;
    beforeAll(async () => {
      codecell = await openCells(layout, { proc: { timeout: "10s" } });
      parent = await codecell.openSession();
      await run(parent, "x = 'kept'");
    });
    afterAll(() => codecell?.close());

    test.each(deaths)("survives a fork with %s", async (_, code) => {
      await using fork = await within(10_000, parent.fork("fork"));
      await within(20_000, run(fork, code));
      await within(15_000, fork.fork("fork of it")).then(
        (second) => second.close(),
        () => {}, // a fork that cannot be forked is its own problem
      );
      expect(await within(15_000, run(parent, "x"))).toMatchObject({ status: "ok", value: "'kept'" });
    });
  },
  [],
);
