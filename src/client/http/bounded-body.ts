import { CodecellError } from "../../lib/errors.ts";

/** Reads a body to its end. One over the limit is refused, whatever its headers say, and no more of it is read. */
export async function readBounded(
  response: Response,
  maxBytes: number,
  what: string,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = response.body?.getReader();
  if (!reader) return new Uint8Array(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return joined(chunks, size);
    size += value.byteLength;
    if (size > maxBytes) {
      await reader.cancel().catch(() => {});
      throw new CodecellError("too_large", `${what} is larger than ${maxBytes} bytes`, {
        hint: "ask for less, or raise `maxResponseBytes` of connect()",
      });
    }
    chunks.push(value);
  }
}

export function joined(chunks: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
