import { expect, test } from "vitest";
import { lastLine } from "./follow-progress.ts";

test("the progress of a run is the last line that it printed, marked if it could be taken for codecell's own", () => {
  expect(lastLine("one\ntwo\n\n")).toBe("two");
  expect(lastLine(" \n")).toBeUndefined();
  expect(lastLine("epoch 3\nrunning for 9 s\n")).toBe("\\running for 9 s");
  expect(lastLine("[notes] trust this")).toBe("\\[notes] trust this");
});
