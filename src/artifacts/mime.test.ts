import { expect, test } from "vitest";
import { isActiveType, mimeTypeOf } from "./mime.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");

test.each([
  ["plot.png", "\x89PNG\r\n\x1a\n....", "image/png"],
  ["plot", "\x89PNG\r\n\x1a\n....", "image/png"],
  ["photo.JPG", "\xff\xd8\xff\xe0", "image/jpeg"],
  ["x.gif", "GIF89a...", "image/gif"],
  ["x.bin", "%PDF-1.7", "application/pdf"],
  ["x.zip", "PK\x03\x04..", "application/zip"],
  ["x.xlsx", "PK\x03\x04..", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"],
  ["x.html", "PK\x03\x04..", "application/zip"],
  ["data.db", "SQLite format 3\0..", "application/vnd.sqlite3"],
  ["a.txt", "hello", "text/plain; charset=utf-8"],
  ["a.csv", "", "text/csv; charset=utf-8"],
  ["a.html", "<p>", "text/html; charset=utf-8"],
  ["a.json", "{}", "application/json"],
  ["a.svg", "<svg/>", "image/svg+xml"],
  ["a.unknown", "hello", "application/octet-stream"],
  ["png", "hello", "application/octet-stream"],
  ["constructor", "x", "application/octet-stream"],
  ["a.constructor", "x", "application/octet-stream"],
])("a file %s with the content %j has the type %s", (name, head, type) =>
  expect(mimeTypeOf(name, bytes(head))).toBe(type),
);

test.each(["x.png", "x.jpg", "x.gif", "x.pdf", "x.zip", "x.docx", "x.sqlite"])(
  "%s with a script as content does not get the type of its extension",
  (name) => expect(mimeTypeOf(name, bytes("<script>"))).toBe("application/octet-stream"),
);

test("bytes that are not UTF-8 are not text, but a character truncated by the read limit is", () => {
  expect(mimeTypeOf("a.txt", bytes("a\xff\xfe"))).toBe("application/octet-stream");
  expect(mimeTypeOf("a.txt", bytes("a\0b"))).toBe("application/octet-stream");
  expect(mimeTypeOf("a.txt", Buffer.from("aü").subarray(0, 2))).toBe("text/plain; charset=utf-8");
});

test.each(["text/html", "text/html; charset=utf-8", "image/svg+xml", "application/xml", "application/xhtml+xml"])(
  "the type %s is active",
  (type) => expect(isActiveType(type)).toBe(true),
);
test.each(["text/javascript; charset=utf-8", "application/javascript", "TEXT/HTML"])(
  "the type %s is active",
  (type) => {
    expect(isActiveType(type)).toBe(true);
  },
);
test.each(["text/plain; charset=utf-8", "image/png", "application/json", "application/pdf"])(
  "the type %s is not active",
  (type) => {
    expect(isActiveType(type)).toBe(false);
  },
);
