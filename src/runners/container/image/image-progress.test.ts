import { expect, test } from "vitest";
import { linesOf, ProgressParser } from "./image-progress.ts";

const parse = (...messages: string[]) => {
  const parser = new ProgressParser();
  return messages.flatMap((message) => parser.push(message));
};

test.each([
  ['{"stream":"Step 2/5 : RUN  apt-get \\t update\\n"}', { type: "step", text: "step 2 of 5: RUN apt-get update" }],
  ['{"stream":"STEP 2/5: FROM debian\\n"}', { type: "step", text: "step 2 of 5: FROM debian" }],
  ['{"stream":"\\u001b[91mE: no\\u001b[0m\\n"}', { type: "detail", text: "E: no" }],
  ['{"status":"Pulling from library/debian","id":"12"}', { type: "detail", text: "12: Pulling from library/debian" }],
  [
    '{"status":"Downloading","progressDetail":{"current":5,"total":20},"id":"ab"}',
    { type: "detail", text: "ab: Downloading 25%" },
  ],
  ['{"errorDetail":{"message":"no"},"error":"no such host"}', { type: "failed", text: "no such host" }],
])("the progress parser reads %s", (message, progress) => expect(parse(message)).toEqual([progress]));

test.each(['{"stream":"\\n"}', '{"status":"","progressDetail":{}}', '{"aux":{"ID":"sha256:1"}}', "", "not json", "7"])(
  "the progress parser ignores %j",
  (message) => expect(parse(message)).toEqual([]),
);

test("the progress parser joins a line that the build printed in colored pieces", () => {
  const pieces = ["E", ": ", "Unable to locate", "\n"].map((text) => ({ stream: `\u001b[91m${text}\u001b[0m` }));
  const [piece, ...rest] = parse(...pieces.map((one) => JSON.stringify(one)), '{"stream":"next\\nlast"}');
  expect(piece).toEqual({ type: "detail", text: "E: Unable to locate" });
  expect(rest).toEqual([{ type: "detail", text: "next" }]);
});

test("the progress parser truncates a long line of output, but not a failure", () => {
  expect(parse(JSON.stringify({ stream: `${"x".repeat(5000)}\n` }))[0]?.text).toHaveLength(301);
  expect(parse(JSON.stringify({ error: "x".repeat(5000) }))[0]?.text).toHaveLength(5000);
});

test("linesOf splits a stream into lines even if a character arrives in pieces", async () => {
  const lines: string[] = [];
  for await (const line of linesOf(pieces(Buffer.from("één\r\ntwo\n\nrest"), 1))) lines.push(line);
  expect(lines).toEqual(["één", "two", "", "rest"]);
});

test("linesOf rejects a line that does not end", async () => {
  const endless = pieces(Buffer.alloc(3 * 1024 * 1024, "x"), 65_536);
  await expect(linesOf(endless).next()).rejects.toMatchObject({ code: "runner_unavailable" });
});

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
