import { expect, test } from "vitest";
import { fileHeaders } from "./file-headers.ts";

test.each(["text/html; charset=utf-8", "image/svg+xml", "application/xhtml+xml", "text/javascript", "application/xml"])(
  "a file of type %s is always sent as a download of bytes",
  (mimeType) => {
    const headers = fileHeaders("page", mimeType, "inline");
    expect(headers["content-type"]).toBe("application/octet-stream");
    expect(headers["content-disposition"]).toMatch(/^attachment;/);
  },
);

test("a file is sent inline only on request, and only if it is an image or plain text", () => {
  const shown = (type: string) => fileHeaders("x", type, "inline")["content-disposition"]?.split(";")[0];
  expect(["image/png", "text/plain; charset=utf-8"].map(shown)).toEqual(["inline", "inline"]);
  expect(["application/pdf", "text/csv; charset=utf-8", "text/plain"].map(shown)).toEqual(Array(3).fill("attachment"));
  expect(fileHeaders("x", "image/png", "attachment")["content-disposition"]).toMatch(/^attachment;/);
});

test("a file is sent with headers against sniffing, scripts and referrers", () => {
  expect(fileHeaders("x", "text/plain", "attachment")).toMatchObject({
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "referrer-policy": "no-referrer",
  });
});

test("a file name cannot break out of the Content-Disposition header", () => {
  const header = fileHeaders('a/b "c"; filename=evil.exe é*.txt', "text/plain", "attachment")["content-disposition"];
  expect(header).toBe(
    `attachment; filename="b__c___filename_evil.exe___.txt"; filename*=UTF-8''b%20%22c%22%3B%20filename%3Devil.exe%20%C3%A9%2A.txt`,
  );
});
