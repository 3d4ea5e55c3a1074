import { Readable } from "node:stream";
import { CodecellError } from "../lib/errors.ts";
import type { Credit } from "./credit.ts";

/** Standard input of a run, in chunks. */
export type StdinSource = AsyncIterable<string | Uint8Array>;

/**
 * Sends standard input as the program reads it: the source is asked for more only while there is credit. Ends when the source
 * ends or when the run does (the credit is closed then). Throws what the source throws.
 */
export async function sendStdin(
  source: StdinSource,
  credit: Credit,
  send: (piece: Uint8Array, isLast: boolean) => void,
): Promise<void> {
  await credit.granted(); // a run that never starts leaves its source alone
  if (credit.isClosed) return;
  const chunks = source[Symbol.asyncIterator]();
  try {
    while (!credit.isClosed) {
      const next = await credit.unlessClosed(chunks.next());
      if (next === undefined || credit.isClosed) return;
      if (next.done) return send(nothing, true);
      await credit.spend(bytesOf(next.value), (piece) => send(piece, false));
      await credit.granted();
    }
  } finally {
    release(source, chunks);
  }
}

const nothing = new Uint8Array(0);

function bytesOf(chunk: string | Uint8Array): Uint8Array {
  if (typeof chunk === "string") return Buffer.from(chunk);
  if (chunk instanceof Uint8Array) return chunk;
  // Callers in JavaScript have no type check.
  throw new CodecellError("usage", `stdin must be text or bytes, not ${typeof chunk}`);
}

/** Does not wait: a source may be waiting for data that never arrives. */
function release(source: StdinSource, chunks: AsyncIterator<string | Uint8Array>): void {
  if (source instanceof Readable) source.destroy();
  else chunks.return?.()?.catch(() => {});
}
