import { expect, test } from "vitest";
import { parsePreview } from "./value-preview.ts";

const preview = (text: string) => parsePreview(Buffer.from(text));

test("a preview is parsed into its header and its text", () => {
  const whole = { form: "json", text: '"a\nb"', characters: 5, isCut: false };
  expect(preview('{"form":"json","characters":5}\n"a\nb"')).toEqual(whole);
});

test("a preview is truncated if it has fewer Unicode characters than its header says", () => {
  expect(preview('{"form":"repr","characters":2}\n🐍🐍')).toMatchObject({ isCut: false });
  expect(preview('{"form":"repr","characters":3}\n🐍🐍')).toMatchObject({ isCut: true });
});

test.each(["", "no line", "\n", "[]\nx", '{"form":"html","characters":1}\nx', '{"form":"json","characters":-1}\nx'])(
  "a forged preview is rejected: %j",
  (text) => {
    expect(() => preview(text)).toThrow(/not a valid preview/);
  },
);
