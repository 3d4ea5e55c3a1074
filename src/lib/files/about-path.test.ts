import { readFile, rename } from "node:fs/promises";
import { expect, test } from "vitest";
import { aboutPath } from "./about-path.ts";

test("an error of the OS keeps its code and call, and shows the other path everywhere", async () => {
  const thrown = await readFile("/proc/self/fd/999999/data.csv").catch((error: Error) => error);
  const error = aboutPath(thrown, "data.csv") as NodeJS.ErrnoException;
  expect(error).toMatchObject({ code: "ENOENT", syscall: "open", path: "data.csv" });
  expect(error.message).toBe("ENOENT: no such file or directory, open 'data.csv'");
  expect(error.stack).not.toContain("999999");
});

test("both paths of a call with two are replaced, and other errors are returned as they are", async () => {
  const thrown = await rename("/nowhere/a", "/nowhere/b").catch((error: Error) => error);
  expect((aboutPath(thrown, "x") as Error).message).toBe("ENOENT: no such file or directory, rename 'x' -> 'x'");
  const other = new TypeError("no");
  expect(aboutPath(other, "x")).toBe(other);
  expect(aboutPath("text", "x")).toBe("text");
});
