import { expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { errorReply } from "./error-replies.ts";

const textOf = (error: unknown) => (errorReply(error).content[0] as { text: string }).text;

test("says the code, the cause, the hint and what to do next, in text", () => {
  const cause = new Error("ENOENT");
  const error = new CodecellError("runner_unavailable", "bubblewrap is missing", { hint: "apt install it", cause });
  const lines = textOf(error).split("\n");
  expect(lines.slice(0, 3)).toEqual([
    "runner_unavailable: bubblewrap is missing",
    "cause: ENOENT",
    "hint: apt install it",
  ]);
  expect(lines[3]).toMatch(/^next: .*codecell doctor/);
  expect(errorReply(error).isError).toBe(true);
});

test("answers what nobody expected as our own fault", () => {
  expect(textOf(new TypeError("x is undefined"))).toMatch(/^internal: x is undefined\nnext: /);
});
