import { CodecellError, messageOf } from "../../lib/errors.ts";
import type { PackageRequest } from "../package-request.ts";
import { parseRequests } from "./parsed-request.ts";
import { type TomlValue, topLevelKeys } from "./toml-header.ts";
import { parseRange } from "./version-range.ts";

/** What a script says about itself (PEP 723). */
export interface ScriptHeader {
  readonly requiresPython?: string;
  readonly requests: PackageRequest[];
}

const from = "script header";
const longestHeader = 256 * 1024;

/** Reads the `# /// script` block of a script. Undefined: it has none. */
export function parseScriptHeader(code: string): ScriptHeader | undefined {
  const text = scriptBlock(code);
  if (text === undefined) return undefined;
  let keys: Map<string, TomlValue>;
  try {
    keys = topLevelKeys(text);
  } catch (error) {
    throw wrong(messageOf(error), error);
  }
  const dependencies = keys.get("dependencies") ?? { kind: "list", items: [] };
  const python = keys.get("requires-python");
  if (dependencies.kind !== "list") throw wrong("dependencies is not a list");
  const requests = dependencies.items.map((item): PackageRequest => {
    if (item.kind !== "text") throw wrong("dependencies has something that is not a string");
    return { requirement: item.text, from };
  });
  parseRequests(requests, false);
  if (python === undefined) return { requests };
  if (python.kind !== "text" || !parseRange(python.text)) throw wrong("requires-python is not a range of versions");
  return { requests, requiresPython: python.text };
}

/** The block's text without the comment signs. A block that does not end is none, as PEP 723 says. */
function scriptBlock(code: string): string | undefined {
  if (!code.includes("# /// script")) return undefined; // almost all code, at the speed of a search
  const lines = code.split(/\r\n|\r|\n/);
  const found: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    if (lines[at]?.trimEnd() !== "# /// script") continue;
    const { end, stop } = endOfBlock(lines, at);
    if (end !== undefined) {
      const block = lines.slice(at + 1, end).map((line) => line.replace(/^# ?/, ""));
      found.push(block.join("\n"));
    }
    at = end ?? stop - 1; // no line is looked at once for each block that does not end
  }
  if (found.length > 1) throw wrong("there is more than one");
  if ((found[0]?.length ?? 0) > longestHeader) throw wrong(`it is longer than ${longestHeader} characters`);
  return found[0];
}

/** The last `# ///` of the comment lines that follow: a `# ///` inside does not end the block. */
function endOfBlock(lines: readonly string[], start: number): { end: number | undefined; stop: number } {
  let end: number | undefined;
  let stop = start + 1;
  for (; stop < lines.length; stop++) {
    const line = lines[stop] ?? "";
    if (line !== "#" && !line.startsWith("# ")) break;
    if (line.trimEnd() === "# ///") end = stop;
  }
  return { end, stop };
}

function wrong(why: string, cause?: unknown): CodecellError {
  return new CodecellError("usage", `the script's "# /// script" header cannot be read: ${why}`, {
    hint: 'write it as in PEP 723: # dependencies = ["requests"]',
    cause,
  });
}
