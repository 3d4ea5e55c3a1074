import { expect, test } from "vitest";
import { parsePreview } from "./value-preview.ts";

const preview = (text: string) => parsePreview(Buffer.from(text));

test("reads the line about the text and the text", () => {
  const whole = { form: "json", text: '"a\nb"', characters: 5, isCut: false };
  expect(preview('{"form":"json","characters":5}\n"a\nb"')).toEqual(whole);
});

test("says that a text is cut, counting characters and not units of UTF-16", () => {
  expect(preview('{"form":"repr","characters":2}\n🐍🐍')).toMatchObject({ isCut: false });
  expect(preview('{"form":"repr","characters":3}\n🐍🐍')).toMatchObject({ isCut: true });
});

test.each(["", "no line", "\n", "[]\nx", '{"form":"html","characters":1}\nx', '{"form":"json","characters":-1}\nx'])(
  "refuses %j, which a cell's own code could send",
  (text) => {
    expect(() => preview(text)).toThrow(/not a valid preview/);
  },
);
