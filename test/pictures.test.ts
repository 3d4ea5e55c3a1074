import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { commands as entries } from "../src/surfaces/cli/commands.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const commands = await Promise.all(entries.map(({ load }) => load()));
const folder = join(root, "docs", "pictures");
const pictures = readdirSync(folder)
  .filter((name) => name.endsWith(".svg"))
  .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));
const readme = readFileSync(join(root, "README.md"), "utf8");

test("the pictures match the stored data", async () => {
  const run = promisify(execFile)(process.execPath, [join(root, "scripts/pictures/run.js"), "--check"]);
  await expect(run).resolves.toMatchObject({ stderr: "" });
});

describe.each(pictures)("docs/pictures/$name", ({ name, text }) => {
  test("is well-formed XML", () => {
    expect(xmlProblem(text)).toBe(undefined);
  });

  test("loads no external resource and runs no script", () => {
    const outside =
      /<(?:script|image|foreignObject|iframe|a|use)\b|\bon\w+\s*=|href|url\(|@import|@font-face|javascript:/i;
    expect(outside.exec(text)?.[0]).toBe(undefined);
    expect(text.match(/\bhttps?:[^"]*/g)).toEqual(["http://www.w3.org/2000/svg"]); // the SVG namespace
  });

  test("has a title and a description for screen readers", () => {
    expect(text).toMatch(/<title>.+<\/title><desc>.+<\/desc>/);
  });

  test("is in the README, with alt text", () => {
    expect(readme).toMatch(new RegExp(`!\\[[^\\]]{10,}\\]\\(docs/pictures/${name.replace(".", "\\.")}\\)`));
  });
});

describe("docs/pictures/attack.svg", () => {
  const svg = readFileSync(join(folder, "attack.svg"), "utf8");
  const { steps } = JSON.parse(readFileSync(join(folder, "attack.json"), "utf8")) as {
    steps: { command: string; output: string }[];
  };

  test("shows the recorded commands, all of which exist", () => {
    const typed = [...svg.matchAll(/>\$<\/text>(?:<text [^>]*>([^<]*)<\/text>)?/g)].flatMap((match) => match[1] ?? []);
    expect(typed).toEqual(steps.map(({ command }) => command));
    const unknown = typed.filter((line) => !/^cat \S+$/.test(line) && !isCodecellCommand(line));
    expect(unknown).toEqual([]);
    expect(typed.filter(isCodecellCommand)).not.toEqual([]);
  });

  test("shows a stopped attack and the receipt rule that stopped it", () => {
    const { output = "" } = steps.at(-1) ?? {};
    expect(output).toMatch(/^phone home +stopped: /m);
    expect(output).not.toMatch(/ got /);
    expect(output).toMatch(/^net\.enabled +false +\w+/m);
  });

  test("has no animation under prefers-reduced-motion, and otherwise stops after one pass", () => {
    const [always = "", moving = ""] = svg.split("@media (prefers-reduced-motion:no-preference)");
    expect(always).not.toMatch(/animation:/);
    expect(moving).toMatch(/animation:/);
    expect(svg).not.toContain("infinite");
  });
});

/** Whether a line is a known command with known options. */
function isCodecellCommand(line: string): boolean {
  const [program, ...words] = line.split(" ");
  const command = commands.find(({ name }) => `${words.join(" ")} `.startsWith(`${name} `));
  const options = Object.keys(command?.options ?? {}).map((option) => `--${option}`);
  const flags = words.filter((word) => word.startsWith("--"));
  return program === "codecell" && command !== undefined && flags.every((flag) => options.includes(flag));
}

/** The first error that an XML parser would report. Comments, CDATA and processing instructions are not expected. */
function xmlProblem(text: string): string | undefined {
  const open: string[] = [];
  const token = /<(\/?)([A-Za-z][\w:-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)|(<)/gy;
  let roots = 0;
  for (const [all, close, name = "", attributes = "", empty, content, stray] of text.matchAll(token)) {
    if (stray !== undefined) return `a stray < before ${open.at(-1)}`;
    if (/&(?!(?:amp|lt|gt|quot|apos|#\d+);)/.test(attributes + (content ?? ""))) return `a stray & in ${all}`;
    if (content !== undefined) {
      if (open.length === 0 && content.trim() !== "") return `text outside of the root: ${content}`;
      continue;
    }
    const names = [...attributes.matchAll(/([\w:-]+)=/g)].map((match) => match[1]);
    if (new Set(names).size < names.length) return `an attribute twice: ${all}`;
    if (close !== "") {
      if (open.pop() !== name) return `an unexpected ${all}`;
    } else {
      if (open.length === 0) roots += 1;
      if (empty === "") open.push(name);
    }
  }
  if (open.length > 0) return `${open.at(-1)} is not closed`;
  return roots === 1 ? undefined : `${roots} roots`;
}
