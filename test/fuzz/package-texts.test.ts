import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CodecellError } from "../../src/lib/errors.ts";
import { parseHtmlPage } from "../../src/packages/index/html-page.ts";
import { parseJsonPage } from "../../src/packages/index/json-page.ts";
import { indexOf } from "../../src/packages/index/pip-index.ts";
import { parseRequirement } from "../../src/packages/requirements/requirement.ts";
import { parseRequirementsFile } from "../../src/packages/requirements/requirements-file.ts";
import { parseScriptHeader } from "../../src/packages/requirements/script-header.ts";
import {
  compareVersions,
  explainVersion,
  parseRange,
  rangeContains,
} from "../../src/packages/requirements/version-range.ts";
import { parseMetadata } from "../../src/packages/wheels/wheel-metadata.ts";
import { parseWheelName } from "../../src/packages/wheels/wheel-name.ts";
import { cpuMsOf } from "../support/cpu-time.ts";
import { patienceMs, tries } from "../support/fuzz/long-mode.ts";

const page = new URL("https://packages.example/simple/lib/");
const wheel = { name: "lib", version: "1", build: 0, tags: [] };
/** Everything that reads a text of an index, of a package or of a script. */
const readers: Readonly<Record<string, (text: string) => unknown>> = {
  requirement: (text) => parseRequirement(text, "--with"),
  "requirements file": (text) => parseRequirementsFile(text, "requirements.txt"),
  "script header": (text) => parseScriptHeader(text),
  "script header's TOML": (text) => parseScriptHeader(`# /// script\n${text.replace(/^/gm, "# ")}\n# ///\n`),
  "wheel name": parseWheelName,
  "HTML page": (text) => parseHtmlPage(text, page),
  "JSON page": (text) => parseJsonPage(text, page),
  METADATA: (text) => parseMetadata(text, wheel, "lib-1-py3-none-any.whl"),
  "METADATA of this package": (text) =>
    parseMetadata(`Name: lib\nVersion: 1\n${text}`, wheel, "lib-1-py3-none-any.whl"),
  "pip.conf": indexOf,
  range: parseRange,
};
const pieces = fc.constantFrom(
  ...[
    "lib",
    "Foo.Bar",
    "1.0",
    "2.0rc1",
    ">=",
    "==",
    "~=",
    "!=",
    "<",
    "1!",
    "+x",
    ".*",
    ",",
    ";",
    "[",
    "]",
    "(",
    ")",
    "@",
    " ",
  ],
  ...[
    "\n",
    "\r\n",
    "\t",
    "\\",
    '"',
    "'",
    '"""',
    "#",
    "# ///",
    "# /// script",
    "dependencies",
    "requires-python",
    "=",
    "{",
    "}",
  ],
  ...[
    "python_version",
    "extra",
    "and",
    "or",
    "not in",
    "in",
    "os_name",
    "--hash=sha256:",
    "-r ",
    "--index-url",
    "https://",
    "$" + "{X}",
  ],
  ...[
    "<a ",
    "href",
    "</a>",
    ">",
    "&gt;",
    "&#x110000;",
    "data-yanked",
    "#sha256=",
    "-py3-none-any.whl",
    "-",
    "_",
    "py2.py3",
  ],
  ...[
    '{"meta":{"api-version":"1.0"},"files":[',
    '"filename":',
    "]}",
    "Requires-Dist: ",
    "Name: ",
    "Version: ",
    "[global]",
    "index-url",
  ],
  ...["\u0000", "\u202e", "\ud800", "é", "𝒳", "9".repeat(30)],
);
const text = fc.oneof(
  fc.array(fc.oneof(pieces, fc.string({ maxLength: 4 })), { maxLength: 40 }).map((parts) => parts.join("")),
  fc.string({ unit: "binary", maxLength: 200 }),
);

describe.each(Object.entries(readers))("the reader of a %s", (_, read) => {
  test(
    "returns or throws an error of ours, whatever it is given",
    () => {
      const property = fc.property(text, (given) => {
        try {
          read(given);
        } catch (error) {
          expect(error).toBeInstanceOf(CodecellError);
        }
      });
      fc.assert(property, tries(1_500));
    },
    patienceMs,
  );

  test(
    "reads a megabyte of text that repeats itself in a time that grows with its length, not with its square",
    async () => {
      const repeated = fc.array(pieces, { minLength: 1, maxLength: 3 });
      const property = fc.asyncProperty(repeated, pieces, async (parts, end) => {
        const part = parts.join("");
        const given = part.repeat(Math.ceil(1_000_000 / part.length)) + end;
        const cpuMs = await cpuMsOf(() => {
          try {
            read(given);
          } catch (error) {
            expect(error).toBeInstanceOf(CodecellError);
          }
        });
        // a linear reader needs 200 ms at most, a quadratic one half a minute
        expect([part, end, cpuMs < 5_000]).toEqual([part, end, true]);
      });
      await fc.assert(property, tries(12));
    },
    patienceMs,
  );
});

test(
  "versions have one order, and a range agrees with it",
  () => {
    const version = fc
      .tuple(
        fc.array(fc.nat(12), { minLength: 1, maxLength: 4 }),
        fc.constantFrom("", "a1", "rc2", ".dev3", ".post4", "b1.dev2"),
      )
      .map(([numbers, end]) => `${numbers.join(".")}${end}`);
    const property = fc.property(version, version, version, (a, b, c) => {
      const order = Math.sign(compareVersions(a, b));
      expect(Math.sign(compareVersions(b, a))).toBe(order === 0 ? 0 : -order);
      if (order <= 0 && compareVersions(b, c) <= 0) expect(compareVersions(a, c)).toBeLessThanOrEqual(0);
      const isIn = (range: string) => rangeContains(parseRange(range) ?? { text: "", clauses: [] }, b);
      expect(isIn(`==${a}`)).toBe(order === 0);
      expect(isIn(`>=${a}`)).toBe(order <= 0);
      expect(isIn(`<=${a}`)).toBe(order >= 0);
      expect(isIn(`!=${a}`)).toBe(!isIn(`==${a}`));
      if (isIn(`>${a}`)) expect(order).toBe(-1);
      expect(explainVersion(a)).toBeDefined();
    });
    fc.assert(property, tries(2_000));
  },
  patienceMs,
);
