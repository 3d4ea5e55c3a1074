import { CodecellError } from "../lib/errors.ts";
import { printable } from "../policy/file/problem.ts";

const maxComponentBytes = 255;
const maxNameBytes = 1024;

/** The attack: characters that reverse, break or hide text, so that `gpj.exe` is shown as `exe.jpg`. */
const misleading =
  /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/u;

/**
 * Why a name cannot name a file in a workspace, or undefined. Each file has one name: relative, with `/` between its parts and
 * no `.` or `..`. Bytes that are not UTF-8 decode to the replacement character, so a name with it may mean another file.
 */
export function artifactNameProblem(name: unknown): string | undefined {
  if (typeof name !== "string") return "a name must be a string";
  if (name === "") return "the name is empty";
  if (name.length > maxNameBytes) return `a name can have at most ${maxNameBytes} bytes`;
  if (/\p{Cs}|\ufffd/u.test(name)) return "the name is not valid UTF-8";
  if (/\p{Cc}/u.test(name)) return "a name must not contain control characters";
  if (misleading.test(name)) return "a name must not contain characters that change how it is displayed";
  // The attack: `..\` leads up on systems where a backslash separates directories.
  if (name.includes("\\")) return "a name must not contain a backslash";
  if (name.startsWith("/")) return "a name must be relative to the workspace";
  if (Buffer.byteLength(name) > maxNameBytes) return `a name can have at most ${maxNameBytes} bytes`;
  for (const part of name.split("/")) {
    if (part === "") return "a name must not contain empty parts";
    if (part === "." || part === "..") return `a name must not contain ${part} parts`;
    if (Buffer.byteLength(part) > maxComponentBytes)
      return `a part of a name can have at most ${maxComponentBytes} bytes`;
  }
  return undefined;
}

/** Returns the name unchanged, or throws `file_refused`. */
export function checkArtifactName(name: string): string {
  const problem = artifactNameProblem(name);
  if (problem === undefined) return name;
  throw new CodecellError("file_refused", `${problem}: ${JSON.stringify(printable(String(name)))}`, {
    hint: "use the file's path in the workspace, such as plots/result.png",
  });
}
