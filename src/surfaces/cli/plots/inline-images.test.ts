import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { pngChunk, smallPng } from "../../../../test/fakes/small-png.ts";
import { protocolOfTerminal } from "./image-protocol.ts";
import { InlineImages } from "./inline-images.ts";
import { narrowed, pngPixels } from "./png-pixels.ts";

test.each([
  ["kitty", { TERM: "xterm-kitty" }],
  ["kitty", { TERM: "xterm-256color", KITTY_WINDOW_ID: "1" }],
  ["kitty", { TERM: "xterm-ghostty" }],
  ["iterm2", { TERM: "xterm-256color", TERM_PROGRAM: "iTerm.app" }],
  ["iterm2", { TERM: "xterm-256color", TERM_PROGRAM: "WezTerm" }],
  ["iterm2", { TERM: "xterm-256color", LC_TERMINAL: "iTerm2" }],
  ["sixel", { TERM: "foot-extra" }],
  ["none", { TERM: "xterm-256color" }],
  ["none", { TERM: "xterm-256color", TERM_PROGRAM: "constructor" }],
  ["none", { TERM: "tmux-256color", KITTY_WINDOW_ID: "1" }],
  ["none", { TERM: "xterm-kitty", TMUX: "/tmp/tmux,1,0" }],
  ["none", {}],
])("shows pictures by %s in a terminal with %o", (protocol, env) => {
  expect(protocolOfTerminal(env)).toBe(protocol);
});

test("kitty gets the picture in chunks of 4096 characters, and is told not to answer", () => {
  const png = smallPng({ width: 100, height: 100, pixels: noise(101 * 100) });
  const text = new InlineImages("kitty").show(png, 80) ?? "";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences are what is tested
  const chunks = [...text.matchAll(/\u001b_G([^;]*);([A-Za-z0-9+/=]*)\u001b\\/g)];
  expect(`${chunks.map(([whole]) => whole).join("")}\n`).toBe(text);
  expect(chunks.length).toBeGreaterThan(1);
  expect(chunks.every(([, keys, data]) => keys?.includes("q=2") && (data?.length ?? 0) <= 4096)).toBe(true);
  expect(chunks.map(([, keys]) => /m=(\d)/.exec(keys ?? "")?.[1]).join("")).toMatch(/^1+0$/);
  expect(Buffer.from(chunks.map(([, , data]) => data).join(""), "base64")).toEqual(png);
});

test("a picture that is wider than the terminal is scaled down in kitty", () => {
  const wide = smallPng({ width: 2000, height: 1 });
  expect(new InlineImages("kitty").show(wide, 80)).toContain(",c=80,");
  expect(new InlineImages("kitty").show(smallPng(), 80)).not.toContain(",c=");
});

test("a terminal gets only the pixels of a picture: texts and profiles are left out", () => {
  const png = smallPng({
    extra: [pngChunk("iCCP", Buffer.from("p\0\0junk")), pngChunk("tEXt", Buffer.from("k\0\u001b]0;x"))],
  });
  const shown = new InlineImages("iterm2").show(png, 80) ?? "";
  const content = Buffer.from(shown.slice(shown.lastIndexOf(":") + 1, -2), "base64");
  expect(content).toEqual(smallPng());
});

test("a damaged picture, one with too many pixels and one of too many bytes are not shown", () => {
  const images = new InlineImages("kitty");
  expect(images.show(Buffer.from("\x89PNG\r\n\x1a\n\u001b]0;x\u0007", "latin1"), 80)).toBeUndefined();
  expect(images.show(smallPng().subarray(0, -1), 80)).toBeUndefined();
  expect(images.show(smallPng({ width: 8000, height: 8000 }), 80)).toBeUndefined();
  expect(images.show(smallPng({ bytes: 5 * 1024 * 1024 }), 80)).toBeUndefined();
  expect(images.show(smallPng(), 80)).toBeDefined();
});

test("sixels have the colours and the rows of the picture", () => {
  const row = [0, 255, 0, 0, 0, 0, 255, 0, 0, 255];
  const png = smallPng({
    width: 3,
    height: 7,
    format: [8, 2, 0, 0, 0],
    pixels: Buffer.from(Array(7).fill(row).flat()),
  });
  expect(new InlineImages("sixel").show(png, 80)).toBe(
    '\u001bP0;1;0q"1;1;3;7#0;2;0;0;100#1;2;100;0;0#1~$#0?~~-#1@$#0?@@-\u001b\\\n',
  );
});

const kinds: readonly (readonly [string, readonly number[], readonly number[], readonly number[]])[] = [
  ["gray of 1 bit", [1, 0, 0, 0, 0], [0, 0b01000000], [0, 0, 0, 255, 255, 255]],
  ["gray of 16 bits", [16, 0, 0, 0, 0], [0, 10, 99, 20, 99], [10, 10, 10, 20, 20, 20]],
  ["colours, filtered from the left", [8, 2, 0, 0, 0], [1, 1, 2, 3, 1, 1, 1], [1, 2, 3, 2, 3, 4]],
  ["colours, filtered by Paeth", [8, 2, 0, 0, 0], [4, 1, 2, 3, 1, 1, 1], [1, 2, 3, 2, 3, 4]],
  ["half transparent on white", [8, 6, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 255], [255, 255, 255, 0, 0, 0]],
  ["gray with transparency", [8, 4, 0, 0, 0], [0, 7, 255, 7, 0], [7, 7, 7, 255, 255, 255]],
  ["interlaced", [8, 0, 0, 0, 1], [0, 5, 0, 6], [5, 5, 5, 6, 6, 6]],
];

test.each(kinds)("decodes pixels: %s", (_, format, pixels, rgb) => {
  const decoded = pngPixels(smallPng({ width: 2, height: 1, format, pixels: Buffer.from(pixels) }));
  expect([...decoded.rgb]).toEqual(rgb);
});

test("decodes pixels of a palette", () => {
  const palette = [pngChunk("PLTE", Buffer.from([1, 2, 3, 4, 5, 6])), pngChunk("tRNS", Buffer.from([255, 0]))];
  const png = smallPng({
    width: 2,
    height: 1,
    format: [8, 3, 0, 0, 0],
    pixels: Buffer.from([0, 0, 1]),
    extra: palette,
  });
  expect([...pngPixels(png).rgb]).toEqual([1, 2, 3, 255, 255, 255]);
});

test("a wide picture is narrowed by averaging its pixels", () => {
  const small = narrowed(
    { width: 3, height: 2, rgb: Uint8Array.from([0, 0, 0, 20, 20, 20, 9, 9, 9, 0, 0, 0, 20, 20, 20, 9, 9, 9]) },
    2,
  );
  expect({ ...small, rgb: [...small.rgb] }).toEqual({ width: 2, height: 1, rgb: [10, 10, 10, 9, 9, 9] });
});

/** Bytes that do not compress, with a valid filter in each row. */
function noise(length: number): Buffer {
  const compressed = deflateSync(Buffer.from(Array.from({ length: length * 4 }, (_, i) => (i * i * 7919) >> 5)));
  const bytes = Buffer.alloc(length, compressed);
  for (let at = 0; at < length; at += 101) bytes[at] = 0;
  return bytes;
}
