export const pageBytes = 65_536;
/** The maximum of a 32-bit WebAssembly memory. */
export const maxPages = 65_536;

const memorySection = 5;
const hasMaximum = 1;

/**
 * Writes a maximum into a WebAssembly binary, in place. V8 then refuses to grow the memory beyond it, whatever the code
 * inside does. The module defines its own memory, so the limit cannot be passed through an import.
 */
export function capWasmMemory(binary: Uint8Array, pages: number): void {
  const reader = new LebReader(binary, 8);
  while (reader.at < binary.length) {
    const section = reader.byte();
    const length = reader.number();
    const end = reader.at + length;
    if (section !== memorySection) {
      reader.at = end;
      continue;
    }
    const memories = reader.number();
    const flags = reader.number();
    if (memories !== 1 || flags !== hasMaximum) throw new Error("unexpected memory section in the WebAssembly binary");
    const minimum = reader.number();
    if (pages < minimum || pages > maxPages) throw new Error(`a maximum of ${pages} pages is out of range`);
    const at = reader.at;
    reader.number();
    writeLeb(binary, at, reader.at - at, pages);
    return;
  }
  throw new Error("the WebAssembly binary has no memory section");
}

/** Keeps the width of the number, so that no later byte moves. */
function writeLeb(binary: Uint8Array, at: number, width: number, value: number): void {
  if (value >= 2 ** (7 * width)) throw new Error("the new maximum is longer than the old one");
  let rest = value;
  for (let i = 0; i < width; i++) {
    binary[at + i] = (rest & 127) | (i < width - 1 ? 128 : 0);
    rest >>>= 7;
  }
}

class LebReader {
  readonly #bytes: Uint8Array;
  at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.at = at;
  }

  byte(): number {
    const value = this.#bytes[this.at++];
    if (value === undefined) throw new Error("the WebAssembly binary ends early");
    return value;
  }

  number(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte();
      value += (byte & 127) * 2 ** shift;
      if (byte < 128) return value;
    }
    throw new Error("a number in the WebAssembly binary is too long");
  }
}
