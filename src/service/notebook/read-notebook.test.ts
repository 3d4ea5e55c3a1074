import { describe, expect, test } from "vitest";
import { readNotebook } from "./read-notebook.ts";
import { writeNotebook } from "./write-notebook.ts";

const read = (text: string) => readNotebook(Buffer.from(text), "n.ipynb");
const notebook = (cells: unknown, more: object = {}) =>
  JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, ...more, cells }, null, 1);
const cell = (more: object = {}) => ({
  ...{ cell_type: "code", id: "a", metadata: {}, source: "1", outputs: [], execution_count: null },
  ...more,
});

describe("readNotebook", () => {
  test("takes a source that is a string, and one that is a list of lines", () => {
    const { cells } = read(notebook([cell({ source: "a\nb" }), cell({ source: ["a\n", "b"] }), cell({ source: [] })]));
    expect(cells.map(({ source }) => source)).toEqual(["a\nb", "a\nb", ""]);
  });

  test("takes every minor version of format 4, and the tags of a cell", () => {
    for (const minor of [0, 1, 2, 3, 4, 5]) {
      const { cells } = read(notebook([cell({ metadata: { tags: ["x"] } })], { nbformat_minor: minor }));
      expect(cells[0]?.tags).toEqual(["x"]);
    }
  });

  test("takes a file that starts with a byte order mark", () => {
    expect(read(`\ufeff${notebook([cell()])}`).cells).toHaveLength(1);
  });

  test.each([
    ["", /^n\.ipynb:1:1: the file is empty/],
    ["hello", /^n\.ipynb:1:1: a value is expected/],
    ["[]", /a notebook is a JSON object/],
    ["{}", /has no "nbformat"/],
    [notebook([cell()]).slice(0, -40), /^n\.ipynb:\d+:\d+: .*truncated/],
    [notebook([cell()], { nbformat: 3 }), /^n\.ipynb:2:\d+: .*format 3; codecell reads format 4$/],
    [notebook([cell()], { nbformat: 5 }), /format 5; codecell reads format 4$/],
    [notebook([cell()], { nbformat: "4" }), /"nbformat" must be the number 4/],
    [notebook([cell()], { nbformat_minor: null }), /"nbformat_minor" must be/],
    [notebook([cell()], { metadata: [] }), /"metadata" must be an object/],
    [notebook([cell()], { metadata: { language_info: { name: "R" } } }), /written in "R"/],
    [notebook({}), /"cells" must be a list/],
    [notebook([1]), /cell 1 must be an object/],
    [notebook([cell(), cell({ source: undefined })]), /^n\.ipynb:14:\d+: cell 2 has no "source"/],
    [notebook([cell({ source: 1 })]), /"source" of cell 1 must be/],
    [notebook([cell({ source: ["a", 1] })]), /"source" of cell 1 must be/],
    [notebook([cell({ cell_type: "prose" })]), /"cell_type" of cell 1/],
    [notebook([cell({ metadata: 1 })]), /"metadata" of cell 1/],
    [notebook([cell({ metadata: { tags: "x" } })]), /"tags" of cell 1/],
    [notebook([cell({ outputs: {} })]), /"outputs" of cell 1/],
    ['{"nbformat": 4, "nbformat": 4}', /"nbformat" twice/],
    [notebook([cell({ metadata: JSON.parse(`${"[".repeat(300)}${"]".repeat(300)}`) })]), /nested more than 200/],
  ])("refuses %.40j with the place", (text, message) => {
    expect(() => read(text)).toThrow(
      expect.objectContaining({ code: "usage", message: expect.stringMatching(message) }),
    );
  });

  test("refuses bytes that are not UTF-8, and a file that is too large", () => {
    expect(() => readNotebook(Buffer.from([0x7b, 0xff]), "n.ipynb")).toThrow(/not UTF-8/);
    const large = { byteLength: 200 * 1024 * 1024 } as Uint8Array;
    expect(() => readNotebook(large, "n.ipynb")).toThrow(expect.objectContaining({ code: "too_large" }));
  });

  test("makes escape sequences in the name of the file visible", () => {
    expect(() => readNotebook(Buffer.from("x"), "\u001b[2Jn.ipynb")).toThrow(/^\ufffd\[2Jn/);
  });
});

describe("writeNotebook", () => {
  const odd = `{
  "cells": [
    {"cell_type": "markdown", "source": "# caf\\u00e9", "metadata": {"n": 1.0, "big": 12345678901234567890}},
    {
      "outputs": [{"output_type": "stream", "name": "stdout", "text": "old"}],
      "cell_type": "code",   "metadata": {"unknown": 1e400},
      "source": ["x"], "execution_count": 9
    }
  ],
  "metadata": {}, "nbformat": 4, "nbformat_minor": 4
}`;

  test("changes nothing but the outputs and the count of a cell", () => {
    const one = read(odd);
    const content = { outputs: [], executionCount: 1 };
    const written = writeNotebook(one, new Map(one.cells.slice(1).map((code) => [code, content])));
    const old = '[{"output_type": "stream", "name": "stdout", "text": "old"}]';
    expect(written).toBe(odd.replace(old, "[]").replace('"execution_count": 9', '"execution_count": 1'));
  });

  test("leaves a notebook as it is, byte for byte, if no cell has new outputs", () => {
    expect(writeNotebook(read(odd), new Map())).toBe(odd);
  });

  test("indents outputs as the notebook does", () => {
    const text = notebook([cell()]);
    const one = read(text);
    const outputs = [{ output_type: "stream", name: "stdout", text: ["a\n"] } as const];
    const written = writeNotebook(one, new Map(one.cells.map((code) => [code, { outputs, executionCount: 2 }])));
    expect(written).toBe(notebook([cell({ outputs, execution_count: 2 })]));
  });

  test("adds what the format requires and a cell lacks", () => {
    const one = read(
      notebook([
        { cell_type: "code", source: "x" },
        { cell_type: "markdown", source: "y" },
      ]),
    );
    const written = JSON.parse(writeNotebook(one, new Map()));
    expect(written.cells).toEqual([
      ...[{ cell_type: "code", source: "x", id: expect.any(String), metadata: {}, outputs: [], execution_count: null }],
      ...[{ cell_type: "markdown", source: "y", id: expect.any(String), metadata: {} }],
    ]);
    expect(written.cells[0].id).not.toBe(written.cells[1].id);
    const compact = read('{"nbformat":4,"nbformat_minor":4,"metadata":{},"cells":[{"cell_type":"code","source":"x"}]}');
    expect(JSON.parse(writeNotebook(compact, new Map())).cells[0]).toMatchObject({ metadata: {}, outputs: [] });
  });
});
