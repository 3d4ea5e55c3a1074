import { expect, test } from "vitest";
import { toolValue } from "./tool-value.ts";

const answer = (content: readonly unknown[], more: object = {}) => ({ content, isError: false, ...more });
const text = (value: string) => ({ type: "text", text: value });
const value = (content: readonly unknown[], more: object = {}) => toolValue(answer(content, more), 1_000).value;

test.each([
  [[text("plain")], "plain"],
  [[text("a"), text("b")], "a\nb"],
  [[text('{"n": [1, null]}')], { n: [1, null] }],
  [[text("[1, 2]")], [1, 2]],
  [[text("42")], "42"],
  [[text("{not json")], "{not json"],
  [[text('{"a": 1, "a": 2}')], '{"a": 1, "a": 2}'],
  [[], null],
  [[7, null, "x"], null],
  [
    [{ type: "image", data: "eA==", mimeType: "image/png", _meta: {} }],
    [{ type: "image", data: "eA==", mimeType: "image/png" }],
  ],
  [
    [text("see"), { type: "resource_link", uri: "x://y", name: "y" }],
    [text("see"), { type: "resource_link", uri: "x://y", name: "y" }],
  ],
  [[{ type: "hologram", beam: 1 }], [{ type: "hologram" }]],
])("the content %j is the value %j", (content, expected) => {
  expect(value(content)).toEqual(expected);
});

test("structured content comes first, unless it is not an object", () => {
  expect(value([text("1")], { structuredContent: { sum: 1 } })).toEqual({ sum: 1 });
  expect(value([text("1")], { structuredContent: "sum" })).toBe("1");
});

test("an error of the tool has the text of its content, cut if it is long", () => {
  const failing = (content: readonly unknown[]) => () => toolValue({ content, isError: true }, 10);
  expect(failing([text("the shelf is empty")])).toThrow("the shelf is empty");
  expect(failing([])).toThrow("without a reason");
  expect(failing([text("x".repeat(9_000))])).toThrow(/^x{4000} … \(truncated\)$/);
});

test("a value over the limit is refused, with its size and the rule", () => {
  expect(() => value([text("x".repeat(2_000))])).toThrow("tools.result permits 1KB");
  expect(toolValue(answer([text("x".repeat(998))]), 1_000).bytes).toBe(1_000);
});
