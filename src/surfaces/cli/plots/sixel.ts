import { narrowed, type Pixels, pngPixels } from "./png-pixels.ts";

/** Terminals have at least this many colours for sixels. */
const maxColours = 255;
const bandRows = 6;

/** A sound PNG as sixels, scaled down to this many pixels per row. Terminals with sixels have no other way to show a PNG. */
export function sixelText(png: Uint8Array, maxWidth: number): string {
  const pixels = narrowed(pngPixels(png), maxWidth);
  const { colours, indexes } = reduceColours(pixels);
  let text = `\u001bP0;1;0q"1;1;${pixels.width};${pixels.height}`;
  for (const [index, [r, g, b]] of colours.entries()) {
    text += `#${index};2;${percent(r)};${percent(g)};${percent(b)}`;
  }
  for (let y = 0; y < pixels.height; y += bandRows) text += `${bandText(pixels, indexes, y)}-`;
  return `${text}\u001b\\`;
}

function percent(value: number): number {
  return Math.round((value * 100) / 255);
}

/** Six rows: for each colour in them, which of the six pixels of each column have it. */
function bandText({ width, height }: Pixels, indexes: Uint8Array, top: number): string {
  const masks = new Map<number, Uint8Array>();
  for (let y = top; y < Math.min(top + bandRows, height); y++) {
    for (let x = 0; x < width; x++) {
      const colour = indexes[y * width + x] ?? 0;
      let mask = masks.get(colour);
      if (mask === undefined) {
        mask = new Uint8Array(width);
        masks.set(colour, mask);
      }
      mask[x] = (mask[x] ?? 0) | (1 << (y - top));
    }
  }
  return [...masks].map(([colour, mask]) => `#${colour}${runLengths(mask)}`).join("$");
}

function runLengths(mask: Uint8Array): string {
  let text = "";
  for (let at = 0; at < mask.length; ) {
    const value = mask[at] ?? 0;
    let end = at + 1;
    while (end < mask.length && mask[end] === value) end += 1;
    const letter = String.fromCharCode(63 + value);
    if (end < mask.length || value !== 0) text += end - at > 3 ? `!${end - at}${letter}` : letter.repeat(end - at);
    at = end;
  }
  return text;
}

/**
 * The most frequent colours of a picture, and for each pixel the nearest of them. Colours are compared by five bits of each
 * channel, so at most 32768 of them are matched, however many pixels there are.
 */
function reduceColours({ rgb }: Pixels): { colours: Colour[]; indexes: Uint8Array } {
  const counts = new Uint32Array(32_768);
  const sums = new Float64Array(32_768 * 3);
  for (let at = 0; at < rgb.length; at += 3) {
    const key = keyOf(rgb, at);
    counts[key] = (counts[key] ?? 0) + 1;
    for (let c = 0; c < 3; c++) sums[key * 3 + c] = (sums[key * 3 + c] ?? 0) + (rgb[at + c] ?? 0);
  }
  const used = Array.from(counts.keys()).filter((key) => (counts[key] ?? 0) > 0);
  used.sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0));
  const average = (key: number) => {
    const [r = 0, g = 0, b = 0] = sums.subarray(key * 3, key * 3 + 3);
    const count = counts[key] ?? 1;
    return [r / count, g / count, b / count] as const;
  };
  const colours = used.slice(0, maxColours).map(average);
  const nearest = new Uint8Array(32_768);
  for (const [place, key] of used.entries()) {
    nearest[key] = place < maxColours ? place : nearestOf(average(key), colours);
  }
  const indexes = new Uint8Array(rgb.length / 3);
  for (let at = 0, i = 0; at < rgb.length; at += 3, i++) indexes[i] = nearest[keyOf(rgb, at)] ?? 0;
  return { colours, indexes };
}

function keyOf(rgb: Uint8Array, at: number): number {
  return (((rgb[at] ?? 0) >> 3) << 10) | (((rgb[at + 1] ?? 0) >> 3) << 5) | ((rgb[at + 2] ?? 0) >> 3);
}

type Colour = readonly [number, number, number];

function nearestOf([r, g, b]: Colour, colours: readonly Colour[]): number {
  let best = { place: 0, distance: Number.POSITIVE_INFINITY };
  for (const [place, [cr, cg, cb]] of colours.entries()) {
    const distance = (r - cr) ** 2 + (g - cg) ** 2 + (b - cb) ** 2;
    if (distance < best.distance) best = { place, distance };
  }
  return best.place;
}
