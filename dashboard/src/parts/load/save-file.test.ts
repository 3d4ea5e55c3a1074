import { expect, test } from "vitest";
import { fileName } from "./save-file.ts";

test.each([
  ["data/in.csv", "in.csv"],
  ["..", "_"],
  [".env", "_env"],
  ["a\\..\\b.txt", "b.txt"],
  ["x\u202Egpj.exe", "x_gpj.exe"],
  ['a"b<c>.txt', "a_b_c_.txt"],
  ["", "file"],
])("%j is saved as %j", (path, name) => {
  expect(fileName(path)).toBe(name);
});
