import { expect, test } from "vitest";
import { ConsoleHistory } from "./console-history.ts";

test("Up and Down walk through earlier code, and come back to what was typed", () => {
  const history = new ConsoleHistory(() => ["a", "b", "b", " ", "c"]);
  expect(history.recall(-1, "draft")).toBe("c");
  expect(history.recall(-1, "c")).toBe("b");
  expect(history.recall(-1, "b")).toBe("a");
  expect(history.recall(-1, "a")).toBeUndefined();
  expect(history.recall(1, "a")).toBe("b");
  expect(history.recall(1, "b")).toBe("c");
  expect(history.recall(1, "c")).toBe("draft");
  expect(history.recall(1, "draft")).toBeUndefined();
});

test("what is changed while walking becomes the new draft", () => {
  const history = new ConsoleHistory(() => ["a", "b"]);
  expect(history.recall(-1, "")).toBe("b");
  expect(history.recall(-1, "b2")).toBe("b");
  expect(history.recall(1, "b")).toBe("b2");
});

test("without earlier code nothing happens", () => {
  expect(new ConsoleHistory(() => []).recall(-1, "x")).toBeUndefined();
});
