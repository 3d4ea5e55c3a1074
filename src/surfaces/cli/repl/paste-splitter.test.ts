import { expect, test } from "vitest";
import { PasteSplitter } from "./paste-splitter.ts";

const split = (...chunks: string[]) => {
  const splitter = new PasteSplitter();
  return chunks.flatMap((chunk) => splitter.push(chunk));
};

test("keys before and after a paste are separate from it", () => {
  expect(split("a\u001b[200~x\ny\u001b[201~b")).toEqual([{ keys: "a" }, { paste: "x\ny" }, { keys: "b" }]);
});

test("a paste may arrive in pieces, with its marks cut anywhere", () => {
  expect(split("\u001b[20", "0~x", "\ny\u001b[2", "01~")).toEqual([{ paste: "x\ny" }]);
});

test("escape sequences of keys pass at once", () => {
  expect(split("\u001b", "[A", "\u001b[3~")).toEqual([{ keys: "\u001b" }, { keys: "[A" }, { keys: "\u001b[3~" }]);
});

test("a paste that never ends is bounded", () => {
  const splitter = new PasteSplitter();
  splitter.push("\u001b[200~");
  for (let count = 0; count < 5; count++) splitter.push("x".repeat(2 ** 20));
  expect(splitter.push("\u001b[201~")).toEqual([{ paste: "x".repeat(2 ** 21) }]);
});
