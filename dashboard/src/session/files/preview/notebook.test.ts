import { expect, test } from "vitest";
import { parseNotebook } from "./notebook.ts";

const view = (cells: unknown) => parseNotebook(JSON.stringify({ cells }));

test("a cell has its code and its outputs as text and images", () => {
  const outputs = [
    { output_type: "stream", text: ["a\n", "b"] },
    { output_type: "display_data", data: { "image/png": "aGk=\n", "text/plain": "<Figure>" } },
    { output_type: "execute_result", data: { "text/html": "<b>x</b>", "text/plain": ["x"] } },
    { output_type: "error", ename: "ValueError", evalue: "no", traceback: ["…"] },
  ];
  expect(view([{ cell_type: "code", source: ["x = 1\n", "x"], outputs }])).toEqual({
    leftOut: 0,
    cells: [
      {
        kind: "code",
        source: "x = 1\nx",
        outputs: [
          { kind: "text", text: "a\nb", isError: false },
          { kind: "image", url: "data:image/png;base64,aGk=" },
          { kind: "text", text: "x", isError: false },
          { kind: "text", text: "ValueError: no", isError: true },
        ],
      },
    ],
  });
});

test("HTML alone and images that are not base64 are not shown", () => {
  const html = { output_type: "display_data", data: { "text/html": "<script>alert(1)</script>" } };
  const image = {
    output_type: "display_data",
    data: { "image/png": "x,<svg onload=alert(1)>", "image/svg+xml": "<svg>" },
  };
  const outputs = view([{ cell_type: "code", source: "", outputs: [html, image] }])?.cells[0]?.outputs;
  expect(JSON.stringify(outputs)).not.toMatch(/alert|svg|data:/);
});

test.each(["", "[]", "{}", "null", '{"cells": 1}'])("%j is no notebook", (text) => {
  expect(parseNotebook(text)).toBeUndefined();
});

test.each([[null], [1], [{}], [{ cell_type: {}, source: 1, outputs: "x" }], [{ outputs: [null, 1, {}] }]])(
  "a broken cell %j is shown as far as it goes",
  (cell) => {
    expect(view([cell])?.cells).toHaveLength(1);
  },
);

test("only so many cells are shown", () => {
  expect(view(Array.from({ length: 250 }, () => ({ source: "" })))).toMatchObject({ leftOut: 50 });
});
