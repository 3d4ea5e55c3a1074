import { CodecellError } from "../../lib/errors.ts";
import { quotedName } from "../../lib/quoted-name.ts";
import { type Marker, parseMarker } from "./marker.ts";
import { isPackageName, normalName } from "./package-name.ts";
import { parseRange, type VersionRange } from "./version-range.ts";

/** A requirement of PEP 508. */
export interface Requirement {
  /** normalised */
  readonly name: string;
  /** normalised, sorted */
  readonly extras: readonly string[];
  readonly range: VersionRange;
  readonly marker: Marker | undefined;
}

const longest = 4096;
const start = /^\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*/;

/** Throws a `usage` error that says what is wrong; `from` says who wrote it. */
export function parseRequirement(text: string, from: string): Requirement {
  const fail = (why: string, hint = "write it as in requests or pandas==2.2") =>
    new CodecellError("usage", `${quotedName(text)} (${from}) is not a requirement: ${why}`, { hint });
  if (text.length > longest) throw fail(`it is longer than ${longest} characters`);
  if (/[\p{Cc}]/u.test(text.replaceAll("\t", " "))) throw fail("it contains control characters");
  if (/^\s*-/.test(text)) throw fail("it is an option", "give package names only, such as requests");
  if (/^\s*(?:git|hg|svn|bzr)\+/.test(text) || /^\s*[a-z]+:\/\//i.test(text) || /^\s*[./~]/.test(text))
    throw fail("only packages of an index can be installed, not addresses or paths", "publish it to an index of yours");
  const head = start.exec(text);
  const written = (head?.[1] ?? "").replace(/[._-]+$/, "");
  if (!head || !isPackageName(written) || written !== head[1]) throw fail("it does not start with a package name");
  let rest = text.slice(head[0].length);

  let extras: string[] = [];
  if (rest.startsWith("[")) {
    const end = rest.indexOf("]");
    const listed = rest.slice(1, end).trim();
    extras = listed === "" ? [] : listed.split(",").map((extra) => extra.trim());
    if (end === -1 || extras.length > 100 || !extras.every(isPackageName)) throw fail("its extras are not names");
    rest = rest.slice(end + 1).trimStart();
  }
  if (/^@\s*\d[\w.]*$/.test(rest.trim()))
    throw fail("@ is for addresses", `write the version as in ${written}==${rest.trim().slice(1).trim()}`);
  if (rest.startsWith("@"))
    throw fail("only packages of an index can be installed, not addresses or paths", "publish it to an index of yours");

  const semicolon = rest.indexOf(";");
  const versions = (semicolon === -1 ? rest : rest.slice(0, semicolon)).trim();
  const range = parseRange(unwrapped(versions));
  if (!range) {
    const single = /^=\s*(\d[\w.]*)$/.exec(versions)?.[1];
    const isList = /^,?\s*[A-Za-z]/.test(versions);
    const several = "name one package each: --with pandas --with requests, or a line each in a file";
    const hint = isList ? several : `write it as in ${single === undefined ? "pandas>=2,<3" : `${written}==${single}`}`;
    throw fail(`${quotedName(versions)} is not a range of versions`, hint);
  }
  const condition = semicolon === -1 ? undefined : rest.slice(semicolon + 1);
  const marker = condition === undefined ? undefined : parseMarker(condition);
  if (condition !== undefined && !marker) throw fail(`${quotedName(condition.trim())} is not a condition`);
  const names = [...new Set(extras.map(normalName))].sort();
  return { name: normalName(written), extras: names, range, marker };
}

/** Old metadata has `name (>=1.0)`. */
function unwrapped(versions: string): string {
  return versions.startsWith("(") && versions.endsWith(")") ? versions.slice(1, -1) : versions;
}
