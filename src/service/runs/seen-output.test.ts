import { expect, test } from "vitest";
import { SeenOutput } from "./seen-output.ts";

test("the first look shows everything, and the next one only what is new", () => {
  const seen = new SeenOutput();
  expect(seen.news("a", { stdout: "one\n", stderr: "" })).toEqual({ stdout: "one\n", stderr: "", isContinued: false });
  seen.remember("a", { stdout: "one\n", stderr: "" });
  const next = { stdout: "one\ntwo\n", stderr: "!" };
  expect(seen.news("a", next)).toEqual({ stdout: "two\n", stderr: "!", isContinued: true });
  expect(seen.news("b", next)).toMatchObject({ ...next, isContinued: false });
});

test("whoever asks again after the result was shown gets everything", () => {
  const seen = new SeenOutput();
  seen.remember("a", { stdout: "one\n", stderr: "" });
  seen.forget("a");
  expect(seen.news("a", { stdout: "one\n", stderr: "" })).toMatchObject({ stdout: "one\n", isContinued: false });
});

test("output that does not continue what was seen is shown from its beginning", () => {
  const seen = new SeenOutput();
  seen.remember("a", { stdout: "one\ntwo\n", stderr: "" });
  for (const stdout of ["one\n… cut …\nthree\n", "one\n"]) {
    expect(seen.news("a", { stdout, stderr: "" })).toMatchObject({ stdout, isContinued: false });
  }
});
