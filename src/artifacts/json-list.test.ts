import { expect, test } from "vitest";
import { JsonList } from "./json-list.ts";

test("a JSON list may have as many bytes as its limit, and not one more", () => {
  const write = (maxBytes: number) => {
    const list = new JsonList(maxBytes);
    list.item('"a"');
    list.item('"\u00e4');
    list.more('b"');
    return Buffer.from(list.end()).toString();
  };
  expect(write(11)).toBe('["a","\u00e4b"]');
  expect(() => write(10)).toThrow("more than 10 bytes");
  expect(Buffer.from(new JsonList().end()).toString()).toBe("[]");
});

test("a JSON list over its limit is refused before a long text is added to it", () => {
  const list = new JsonList(100);
  expect(() => list.item("x".repeat(200))).toThrow("more than 100 bytes");
  list.item("1");
  expect(Buffer.from(list.end()).toString()).toBe("[1]");
});
