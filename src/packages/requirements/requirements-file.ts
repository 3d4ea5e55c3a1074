import { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import type { PackageRequest } from "../package-request.ts";
import { parseRequests } from "./parsed-request.ts";

const mostLines = 20_000;
/** Options that name other sources or files, and what to do instead. */
const refusals: readonly (readonly [RegExp, why: string, hint: string])[] = [
  [/^(?:-r|--requirement)\b/, "other files are not read", "give each file with a --requirements of its own"],
  [/^(?:-c|--constraint)\b/, "constraint files are not read", "write the constraints into this file"],
  [
    /^(?:-e|--editable)\b/,
    "editable installs would run code of the project",
    "build a wheel and publish it to an index",
  ],
  [
    /^(?:-i|--index-url|--extra-index-url|--pypi-url|-f|--find-links|--no-index|--trusted-host)\b/,
    "a file does not choose where packages come from",
    "name the index in the policy: kernel.packages.index",
  ],
  [/^--pre\b/, "pre-releases are not switched on for all packages", "name the version, as in pandas>=3.0rc1"],
];
/** pip-compile writes these; they ask for what is done anyway. */
const harmless = /^--(?:require-hashes|only-binary|prefer-binary)\b/;

/**
 * The requirements of a requirements.txt, as pip reads it: comments, lines that end with a backslash, `--hash`. A line that
 * would take packages from elsewhere, or run code, is refused with the line's number. `from` is the file's name.
 */
export function parseRequirementsFile(text: string, from: string): PackageRequest[] {
  const lines = text.replace(/^\ufeff/, "").split(/\r?\n/);
  if (lines.length > mostLines) throw wrong(from, `it has more than ${mostLines} lines`, "split it");
  const requests: PackageRequest[] = [];
  for (let at = 0; at < lines.length; at++) {
    const place = `${from}:${at + 1}`;
    const pieces: string[] = [];
    for (;;) {
      const line = lines[at] ?? "";
      // a comment line within a continued requirement does not end it
      const isContinued = line.endsWith("\\");
      pieces.push(withoutComment(isContinued ? line.slice(0, -1) : line));
      if (!isContinued || at + 1 >= lines.length) break;
      at++;
    }
    const line = pieces.join(" ").trim();
    if (line !== "" && !harmless.test(line)) requests.push(requestOf(line, place));
  }
  parseRequests(requests, false); // every line is checked before anything is done
  return requests;
}

function withoutComment(line: string): string {
  const comment = /(?:^|\s)#/.exec(line);
  return comment ? line.slice(0, comment.index) : line;
}

function requestOf(line: string, place: string): PackageRequest {
  for (const [pattern, why, hint] of refusals)
    if (pattern.test(line)) throw wrong(place, `${quotedName(line)} cannot be used: ${why}`, hint);
  if (line.startsWith("-")) throw wrong(place, `${quotedName(line)} is an option that is not supported`, "remove it");
  const option = line.search(/\s--?[A-Za-z]/);
  const requirement = option === -1 ? line : line.slice(0, option).trim();
  const words = option === -1 ? [] : line.slice(option).trim().split(/\s+/);
  const hashes: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] ?? "";
    const hash = word === "--hash" ? words[++at] : /^--hash=(.+)$/.exec(word)?.[1];
    if (hash === undefined) throw wrong(place, `${quotedName(word)} is an option that is not supported`, "remove it");
    hashes.push(hash);
  }
  if (/\$\{[A-Z0-9_]+\}/.test(requirement)) throw wrong(place, "variables are not replaced", "write the value");
  return { requirement, from: place, ...(hashes.length === 0 ? {} : { hashes }) };
}

function wrong(place: string, why: string, hint: string): CodecellError {
  return new CodecellError("usage", `${place}: ${why}`, { hint });
}
