import { expect, test } from "vitest";
import { foldTraceback } from "./fold-traceback.ts";

const heading = "Traceback (most recent call last):";
const own = '  File "<run 2>", line 2, in <module>\n    go()\n    ^^^^';
const frame = (file: string) => `  File "${file}", line 1, in f\n    x()`;

test("consecutive frames of libraries become one line that names their modules", () => {
  const files = [
    "/usr/lib/python3.11/urllib/request.py",
    "/usr/lib/python3.11/http/client.py",
    "/usr/lib/python3.11/socket.py",
  ];
  const text = [heading, own, ...files.map(frame), "OSError: no"].join("\n");
  expect(foldTraceback(text)).toBe([own, "  … 3 frames in urllib, http, socket", "OSError: no"].join("\n"));
});

test.each([
  "/usr/local/lib/python3.12/site-packages/pandas/io/parsers.py",
  "/usr/lib/python3/dist-packages/pandas/io/parsers.py",
  "/lib/python314.zip/pandas/io/parsers.py",
  "/home/user/.venv/lib/python3.13/site-packages/pandas/io/parsers.py",
])("%s is a library", (file) => {
  expect(foldTraceback([own, frame(file), frame(file), "E: x"].join("\n"))).toBe(
    [own, "  … 2 frames in pandas", "E: x"].join("\n"),
  );
});

test("a single frame of a library stays, and so do the frames of the user's files", () => {
  const text = [
    own,
    frame("/usr/lib/python3.11/json/decoder.py"),
    frame("/workspace/tools.py"),
    frame("/data/lib.py"),
    "E: x",
  ].join("\n");
  expect(foldTraceback(text)).toBe(text);
});

test("each part of a chain of exceptions is folded for itself", () => {
  const library = frame("/usr/lib/python3.11/http/client.py");
  const between = "\nDuring handling of the above exception, another exception occurred:\n";
  const text = [heading, library, library, "OSError: a", between, heading, own, library, library, "URLError: b"].join(
    "\n",
  );
  const folded = "  … 2 frames in http";
  expect(foldTraceback(text)).toBe([folded, "OSError: a", between, heading, own, folded, "URLError: b"].join("\n"));
});

test("a text that is not a traceback is not changed", () => {
  expect(foldTraceback("SystemExit: 3")).toBe("SystemExit: 3");
  expect(foldTraceback("")).toBe("");
});
