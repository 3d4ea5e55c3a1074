import { maxPixelBytes, pixelBytesOf, pngProblem, pngSize } from "../../../service/replies/sound-image.ts";
import type { ImageProtocol } from "./image-protocol.ts";
import { plainPng } from "./plain-png.ts";
import { sixelText } from "./sixel.ts";

/** Of one run. Checking and sending pictures takes time, and there may be thousands. */
const limits = { count: 20, bytes: 4 * 1024 * 1024, pixelBytes: 2 * maxPixelBytes } as const;
/** Typical width of a character. Only a query would tell the real one. */
const characterPixels = 8;
const kittyChunk = 4096;

/** Turns the PNGs of one run into what shows them in a terminal. */
export class InlineImages {
  readonly #protocol: ImageProtocol | "none";
  #count = 0;
  #pixelBytes: number = limits.pixelBytes;

  constructor(protocol: ImageProtocol | "none") {
    this.#protocol = protocol;
  }

  /** Undefined: the picture is not shown, because it is damaged, too large, or one of too many. */
  show(data: Uint8Array, columns: number): string | undefined {
    if (this.#protocol === "none" || this.#count >= limits.count || data.byteLength > limits.bytes) return undefined;
    const problem = pngProblem(data, Math.min(maxPixelBytes, this.#pixelBytes));
    this.#pixelBytes -= pixelBytesOf(data);
    if (problem !== undefined) return undefined;
    this.#count += 1;
    if (this.#protocol === "sixel") return `${sixelText(data, maxPixels(columns))}\n`;
    const { width } = pngSize(data);
    const isWide = width > maxPixels(columns);
    const png = plainPng(data);
    return `${this.#protocol === "kitty" ? kittyText(png, isWide ? columns : undefined) : iterm2Text(png)}\n`;
  }
}

function maxPixels(columns: number): number {
  return Math.min(columns, 250) * characterPixels;
}

/**
 * https://sw.kovidgoyal.net/kitty/graphics-protocol: `q=2` is what keeps the terminal from answering, because its answer would be
 * typed into the shell. The content is base64 and cannot end the sequence.
 */
export function kittyText(png: Uint8Array, columns?: number): string {
  const text = Buffer.from(png).toString("base64");
  const head = `a=T,f=100,t=d,q=2${columns === undefined ? "" : `,c=${columns}`}`;
  let sequence = "";
  for (let at = 0; at < text.length; at += kittyChunk) {
    const more = at + kittyChunk < text.length ? 1 : 0;
    const keys = at === 0 ? `${head},m=${more}` : `q=2,m=${more}`;
    sequence += `\u001b_G${keys};${text.slice(at, at + kittyChunk)}\u001b\\`;
  }
  return sequence;
}

/** https://iterm2.com/documentation-images.html: shows the picture, and scales a wide one down to the window. */
export function iterm2Text(png: Uint8Array): string {
  const content = Buffer.from(png).toString("base64");
  return `\u001b]1337;File=inline=1;size=${png.byteLength};preserveAspectRatio=1:${content}\u0007`;
}
