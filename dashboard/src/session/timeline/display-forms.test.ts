import { expect, test } from "vitest";
import { frameHeight, plainText, pngSize, shownDisplay } from "./display-forms.ts";
import { recordsOf } from "./records.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const forms = (all: Record<string, string | null>) =>
  new Map(Object.entries(all).map(([type, text]) => [type, text === null ? null : base64(text)]));

test("a picture is shown before HTML, and HTML before text", () => {
  const all = { "text/plain": "t", "text/html": "<b>", "image/png": "png" };
  expect(shownDisplay(forms(all))).toMatchObject({ as: "picture", mimeType: "image/png" });
  expect(shownDisplay(forms({ ...all, "image/png": null }))).toMatchObject({ as: "frame", source: "<b>" });
  expect(shownDisplay(forms({ "text/plain": "t" }))).toEqual({ as: "text", text: "t" });
});

test("a preview is shown where the whole picture is too large", () => {
  const shown = shownDisplay(forms({ "image/png": null, "image/png;preview=true": "small" }));
  expect(shown).toEqual({ as: "picture", mimeType: "image/png", base64: base64("small") });
});

test("SVG is never a picture of the page: it is shown in a frame", () => {
  expect(shownDisplay(forms({ "image/svg+xml": "<svg>" }))).toMatchObject({ as: "frame", mimeType: "image/svg+xml" });
});

test("JSON that is broken is shown as text, and what nobody can show says so", () => {
  expect(shownDisplay(forms({ "application/json": "{" }))).toEqual({ as: "text", text: "{" });
  expect(shownDisplay(forms({ "application/x-evil": "x" }))).toMatchObject({ as: "missing" });
  expect(plainText(forms({ "text/html": "x" }))).toBeUndefined();
});

test("a table is a list of flat objects, and is bounded", () => {
  expect(recordsOf([{ a: 1, b: null }, { c: "x" }])).toEqual({
    columns: ["a", "b", "c"],
    rows: [
      ["1", "null", ""],
      ["", "", "x"],
    ],
    total: 2,
  });
  expect(recordsOf([{ a: {} }])).toBeUndefined();
  expect(recordsOf([1])).toBeUndefined();
  expect(recordsOf([])).toBeUndefined();
  expect(recordsOf(new Array(5000).fill({ a: 1 }))).toMatchObject({ rows: { length: 100 }, total: 5000 });
});

test("the size of a PNG is read from its header, unless it lies", () => {
  const header = (width: number) => {
    const bytes = new Uint8Array(24);
    bytes.set([0x89, 0x50, 0x4e, 0x47]);
    new DataView(bytes.buffer).setUint32(16, width);
    new DataView(bytes.buffer).setUint32(20, 30);
    return bytes;
  };
  expect(pngSize(header(40))).toEqual({ width: 40, height: 30 });
  expect(pngSize(header(2 ** 31))).toBeUndefined();
  expect(pngSize(new Uint8Array(4))).toBeUndefined();
});

test("a frame is as high as its content seems to be, within bounds", () => {
  expect(frameHeight("<p>one</p>")).toBe(50);
  expect(frameHeight("<tr>".repeat(10))).toBe(284);
  expect(frameHeight("<tr>".repeat(1000))).toBe(520);
  expect(frameHeight('<svg width="10" height="99999999">')).toBe(50);
});

test("JSON of very many levels is shown, and a page of beginnings is measured at once", () => {
  const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  expect(shownDisplay(forms({ "application/json": deep }))).toMatchObject({ as: "json" });
  const started = performance.now();
  expect(frameHeight("<svg ".repeat(800_000))).toBe(50);
  expect(performance.now() - started).toBeLessThan(1_000);
});

test("a table has only the fields of its records", () => {
  const table = recordsOf([{ toString: 1, constructor: 2 }, { a: 3 }]);
  expect(table?.rows).toEqual([
    ["1", "2", ""],
    ["", "", "3"],
  ]);
});
