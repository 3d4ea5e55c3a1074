import { expect, test } from "vitest";
import { parsePolicy } from "../../policy/file/parse-policy.ts";
import { deniedFileNote } from "./denied-file.ts";

const policy = parsePolicy({
  fs: { workspace: "/home/me/work", mounts: [{ source: "/srv/data", target: "/data" }], deny: ["*.classified"] },
});
const noteFor = (path: string, name = "PermissionError") =>
  deniedFileNote({ name, message: `[Errno 13] Permission denied: '${path}'`, traceback: "" }, policy);
const builtIn = (path: string, glob: string) =>
  `${path} is denied by the policy: ${glob} (of the built-in list; "!${glob}" in fs.deny lifts it)`;

test("names the file as the cell sees it, and the glob", () => {
  expect(noteFor("/data/sub/.env")).toBe(builtIn("/data/sub/.env", ".env*"));
  expect(noteFor("own.classified")).toBe("own.classified is denied by the policy: *.classified (in fs.deny)");
  expect(noteFor("/data/.ssh/id_rsa")).toBe(builtIn("/data/.ssh/id_rsa", ".ssh/**"));
});

test("knows a workspace by its own path, as sandbox-runtime shows it", () => {
  expect(noteFor("/home/me/work/.env")).toBe(builtIn("/home/me/work/.env", ".env*"));
});

test.each(["/etc/shadow", "/data/plain.txt", "/elsewhere/.env", "../outside/.env", "/data"])(
  "says nothing about %s, which no deny glob hides",
  (path) => {
    expect(noteFor(path)).toBeUndefined();
  },
);

test("says nothing about other errors, whatever their text", () => {
  expect(noteFor("/data/.env", "ValueError")).toBeUndefined();
  const message = "[Errno 2] No such file or directory: '/data/.env'";
  expect(deniedFileNote({ name: "FileNotFoundError", message, traceback: "" }, policy)).toBeUndefined();
});

test("escapes control characters of a name that a program chose", () => {
  expect(noteFor("/data/\u001b[2J.env")).not.toContain("\u001b");
});
