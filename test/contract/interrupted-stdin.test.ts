import { describe, expect, test } from "vitest";
import { descriptors, openedSince } from "../support/descriptors.ts";
import { bothLayouts, openCells, run, skipsProcess } from "../support/process-cells.ts";

const chunk = Buffer.alloc(60_000, "x\n");
/** More than waits on the way, so the program is in the middle of reading. */
const chunksBefore = 200;

/** Standard input that never ends, and that always has more. */
async function* endless(onMuch: () => void) {
  for (let count = 0; ; count++) {
    if (count === chunksBefore) onMuch();
    yield chunk;
  }
}

const readers = [
  "sys.stdin.buffer.read()",
  "sys.stdin.read()",
  "for line in sys.stdin: pass",
  "while os.read(0, 65536): pass",
];

describe.skipIf(skipsProcess)("a run that is interrupted while it reads an endless stdin", () => {
  test.each(bothLayouts)("keeps its state, and leaves no descriptor open: $name", async (layout) => {
    await using codecell = await openCells(layout);
    await using session = await codecell.openSession();
    await run(session, "import os, sys\nkept = []");
    await session.usage(); // opens the counters of the cell
    const before = descriptors(process.pid);
    for (const reader of readers) {
      const stdin = endless(() => reading.interrupt());
      const reading = session.run(`kept.append(1)\n${reader}`, { stdin });
      expect(await reading, reader).toMatchObject({ status: "interrupted", state: "kept" });
    }
    expect(await run(session, "len(kept)")).toMatchObject({ value: String(readers.length) });
    await expect.poll(() => openedSince(before, process.pid)).toEqual([]);
  });
});
