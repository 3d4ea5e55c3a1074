import { expect, test } from "vitest";
import { crumbsOf, folderOf } from "./folder.ts";

const file = (name: string) => ({ name, size: 1, modified_at: null });
const files = ["a.txt", "data/in.csv", "data/raw/1.csv", "data/raw/2.csv", "database/x"].map(file);

test("a folder has its own files and the folders in it", () => {
  expect(folderOf(files, "")).toEqual({
    folders: [
      { name: "data", files: 3 },
      { name: "database", files: 1 },
    ],
    files: [file("a.txt")],
  });
  expect(folderOf(files, "data/")).toEqual({ folders: [{ name: "raw", files: 2 }], files: [file("data/in.csv")] });
});

test("a path has its parts", () => {
  expect(crumbsOf("")).toEqual([]);
  expect(crumbsOf("a/b/")).toEqual([
    { name: "a", path: "a/" },
    { name: "b", path: "a/b/" },
  ]);
});
