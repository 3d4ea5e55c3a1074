import type { Readable, Writable } from "node:stream";

const turnBytes = 128 * 1024;

/**
 * Makes a pipe at full speed yield after a number of bytes. Node reads up to 2 MiB from one socket before it serves the next,
 * so a few downloads would delay all other connections by tens of milliseconds.
 */
export function takeTurns(source: Readable, sink: Writable): void {
  let taken = 0;
  source.on("data", (bytes: Buffer) => {
    taken += bytes.length;
    if (taken < turnBytes) return;
    taken = 0;
    source.pause();
    setImmediate(() => {
      if (!sink.writableNeedDrain) source.resume(); // otherwise the pipe resumes when the sink drains
    });
  });
}
