import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { neighbourHint } from "./neighbour-hint.ts";

const path = mkdtempSync(join(tmpdir(), "codecell-hint-"));
for (const name of ["helper.py", "data.csv", ".env", "two words.csv"]) writeFileSync(join(path, name), "");
for (const name of ["package", "tables"]) mkdirSync(join(path, name));
afterAll(() => rmSync(path, { recursive: true }));

function hintFor(name: string, message: string, shown = "work") {
  const code = { name: "main.py", beside: { path, shown } };
  return neighbourHint({ name, message, traceback: "" }, code);
}

test.each([
  ["ModuleNotFoundError", "No module named 'helper'", "helper.py"],
  ["ModuleNotFoundError", "No module named 'package.part'", "package"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: 'data.csv'", "data.csv"],
  ["FileNotFoundError", "[Errno 44] No such file or directory: 'tables/x.csv'", "tables"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: 'two words.csv'", "two words.csv"],
  ["FileNotFoundError", "data.csv not found.", "data.csv"],
])("%s: %s names the file beside the script", async (name, message, file) => {
  expect(await hintFor(name, message)).toBe(
    `${file} is beside main.py on the host, but not in the cell; add --project work to let the program read that directory`,
  );
});

test.each([
  ["ModuleNotFoundError", "No module named 'absent'"],
  ["ModuleNotFoundError", "No module named '../helper'"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: 'absent.csv'"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: '/etc/passwd'"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: '../main/data.csv'"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: '.env'"],
  ["FileNotFoundError", "[Errno 2] No such file or directory: 'data.csv\u0000'"],
  ["ValueError", "No module named 'helper'"],
])("%s: %j gives no hint", async (name, message) => {
  expect(await hintFor(name, message)).toBeUndefined();
});

test("a directory with unusual characters is quoted for a shell", async () => {
  const hint = await hintFor("ModuleNotFoundError", "No module named 'helper'", "my project's\u001b[2J");
  expect(hint).toContain("add --project 'my project'\\''s\ufffd[2J' to let");
});
