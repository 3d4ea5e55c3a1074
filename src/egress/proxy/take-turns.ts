import type { Readable, Writable } from "node:stream";

const turnBytes = 128 * 1024;

/**
 * For a pipe at full speed: lets others have their turn after so many bytes. Node reads up to 2 MiB from one socket before
 * it looks at the next, and a few downloads keep everybody else waiting for tens of milliseconds.
 */
export function takeTurns(source: Readable, sink: Writable): void {
  let taken = 0;
  source.on("data", (bytes: Buffer) => {
    taken += bytes.length;
    if (taken < turnBytes) return;
    taken = 0;
    source.pause();
    setImmediate(() => {
      if (!sink.writableNeedDrain) source.resume(); // else the pipe goes on when the sink has room
    });
  });
}
