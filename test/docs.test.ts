import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { auditEventTypes } from "../src/audit/event.ts";
import { commands as entries } from "../src/surfaces/cli/commands.ts";
import { errorExitCodes } from "../src/surfaces/cli/shell/exit-codes.ts";
import { errorStatuses } from "../src/surfaces/http/answers/error-status.ts";
import { differences } from "./cpython/differences.ts";
import { probes } from "./parity/probes.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const commands = await Promise.all(entries.map(({ load }) => load()));
const files = readdirSync(root, { withFileTypes: true })
  .filter(({ name }) => !["node_modules", "dist", ".git"].includes(name))
  .flatMap((entry) => (entry.isDirectory() ? filesBelow(entry.name) : [entry.name]));
const pages = files
  .filter((file) => file.endsWith(".md"))
  .map((page) => ({ page, text: readFileSync(join(root, page), "utf8") }));
const textOf = (wanted: string) => pages.find(({ page }) => page === wanted)?.text ?? "";

describe.each(pages)("$page", ({ page, text }) => {
  test("has no dead links", () => {
    const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)];
    const dead = links.filter(([, target = "", anchor]) => {
      const path = target === "" ? page : relative(root, join(root, dirname(page), target));
      if (anchor !== undefined) return !anchorsOf(textOf(path)).includes(anchor);
      return !files.some((file) => file === path || file.startsWith(`${path}/`));
    });
    expect(dead.map(([link]) => link)).toEqual([]);
  });

  test("names only source files that exist", () => {
    const named = [...text.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|py))`/g)].map((match) => match[1] ?? "");
    expect(named.filter((name) => !files.some((file) => file === name || file.endsWith(`/${name}`)))).toEqual([]);
  });

  test("shows commands only with options that exist", () => {
    const shown = text.split("\n").flatMap(commandLines);
    const unknown = shown.flatMap(({ name, options, flags }) =>
      flags.filter((flag) => !options.includes(flag)).map((flag) => `${name} ${flag}`),
    );
    expect(unknown).toEqual([]);
  });
});

test("docs/cli.md describes every option of `codecell run`", () => {
  const [, section = ""] = /^## run\n([\s\S]*?)^## /m.exec(textOf("docs/cli.md")) ?? [];
  const options = Object.keys(commands.find(({ name }) => name === "run")?.options ?? {});
  expect(options.length).toBeGreaterThan(10);
  expect(options.filter((option) => option !== "help" && !section.includes(`\`--${option}`))).toEqual([]);
});

test("ARCHITECTURE.md names only source files that exist, with or without their folders", () => {
  const named = [...textOf("ARCHITECTURE.md").matchAll(/`([\w.-]+\.(?:ts|py))`/g)].map((match) => match[1] ?? "");
  expect(named.filter((name) => !files.some((file) => basename(file) === name))).toEqual([]);
});

test("docs/errors.md lists every error code, and no other, with its HTTP status and exit code", () => {
  const rows = [...textOf("docs/errors.md").matchAll(/^\| `(\w+)` \| .+ \| (\d+) \| (\d+) \|$/gm)];
  const written = Object.fromEntries(rows.map(([, code, status, exit]) => [code, [Number(status), Number(exit)]]));
  const codes = Object.keys(errorStatuses) as (keyof typeof errorStatuses)[];
  expect(written).toEqual(Object.fromEntries(codes.map((code) => [code, [errorStatuses[code], errorExitCodes[code]]])));
});

test("docs/compatibility.md has a row for each difference that the comparison with CPython's tests lists", () => {
  const rows = [...textOf("docs/compatibility.md").matchAll(/^\| ([^|]+?) \| /gm)].map(([, topic]) => topic);
  expect(rows).toEqual(expect.arrayContaining(differences.map(({ topic }) => topic)));
});

test("docs/isolation.md states the number of probes that every tier runs", () => {
  expect(textOf("docs/isolation.md")).toContain(`\`test/parity/probes.ts\`, ${probes.length} questions`);
});

test("docs/audit.md lists every event type, and no other", () => {
  const rows = [...textOf("docs/audit.md").matchAll(/^\| ((?:`[a-z.]+`(?:, )?)+) \|/gm)].map((match) => match[1] ?? "");
  const kinds = rows.flatMap((row) => {
    const [first = "", ...others] = [...row.matchAll(/`([a-z.]+)`/g)].map((match) => match[1] ?? "");
    return [first, ...others.map((other) => `${first.split(".")[0]}${other}`)];
  });
  expect(kinds.sort()).toEqual([...auditEventTypes].sort());
});

test("every environment variable that codecell reads is documented", () => {
  const sources = files.filter((file) => /^(?:src|python)\/.*\.(?:ts|py)$/.test(file) && !/test/.test(file));
  const read = new Set(
    sources.flatMap((file) => readFileSync(join(root, file), "utf8").match(/\bCODECELL_[A-Z_]+/g) ?? []),
  );
  expect([...read].filter((name) => !pages.some(({ text }) => text.includes(name)))).toEqual([]);
});

/** The `codecell …` commands in a line, each up to the end of the command or of its code span. */
function commandLines(line: string): { name: string; options: string[]; flags: string[] }[] {
  return [...line.matchAll(/\bcodecell ((?:[a-z][a-z-]* ?)+)([^`]*)/g)].flatMap(([, words = "", rest = ""]) => {
    const command = commands
      .filter(({ name }) => `${words} `.startsWith(`${name} `))
      .sort((a, b) => b.name.length - a.name.length)[0];
    const isGroup = commands.some(({ name }) => name.startsWith(`${words.split(" ")[0]} `));
    const [own = ""] = rest.split(/ [|&#>] |[;|] |--? -- /);
    const flags = own.replace(/'[^']*'|"[^"]*"/g, "").match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [];
    if (command === undefined && !isGroup) return [];
    const options = Object.keys(command?.options ?? {}).map((option) => `--${option}`);
    return [{ name: command?.name ?? words.trim(), options, flags }];
  });
}

/** Anchors as GitHub makes them from headings. */
function anchorsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.includes("node_modules"));
}
