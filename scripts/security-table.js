// Writes the tables of SECURITY.md: attacks from the catalogue of the attack suite, other vectors from security-vectors.json.
// `npm run build` first: it reads the catalogue from dist. test/security-table.test.ts fails if the page is stale.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The page with both tables written anew. */
export function withTables(page, attacks, vectors) {
  return replaced(replaced(page, "attacks", attackTable(attacks)), "vectors", vectorTable(vectors));
}

/** One row for each theme and defence, with what the programs try. */
function attackTable(attacks) {
  const rows = new Map();
  for (const { id, title, containedBy } of attacks) {
    const [theme] = id.split("/");
    const key = `${theme} ${containedBy.default}`;
    const row = rows.get(key) ?? { theme, defence: defenceText(containedBy), titles: [] };
    row.titles.push(title);
    rows.set(key, row);
  }
  const lines = [...rows.values()].map(
    ({ theme, defence, titles }) => `| \`${theme}/*\` (${titles.length}) | ${titles.join("; ")} | ${defence} |`,
  );
  return [`| attacks (${attacks.length}) | a program that … | contained by |`, "|---|---|---|", ...lines];
}

function defenceText({ default: usual, ...others }) {
  return [usual, ...Object.entries(others).map(([tier, defence]) => `${tier}: ${defence}`)].join("; ");
}

function vectorTable(vectors) {
  const lines = vectors.map(({ vector, defence, files, tests }) => `| ${vector} | ${defence} | ${files} | ${tests} |`);
  return ["| vector | defence | file | test |", "|---|---|---|---|", ...lines];
}

function replaced(page, name, lines) {
  const begin = page.indexOf("\n", page.indexOf(`<!-- ${name}: `)) + 1;
  const end = page.indexOf(`<!-- end of ${name} -->`);
  if (begin === 0 || end < begin) throw new Error(`SECURITY.md has no place for the table of ${name}`);
  const escaped = lines.join("\n").replaceAll("<", "&lt;");
  return `${page.slice(0, begin)}\n${escaped}\n\n${page.slice(end)}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const path = join(root, "SECURITY.md");
  const { attacks } = await import("../dist/attacks/catalogue/index.js");
  const vectors = JSON.parse(readFileSync(join(root, "scripts/security-vectors.json"), "utf8"));
  writeFileSync(path, withTables(readFileSync(path, "utf8"), attacks, vectors));
}
