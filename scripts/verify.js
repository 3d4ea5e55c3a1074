// npm run verify [-- --only PART,PART] [-- --report FILE]: asks of this checkout what a release has to answer, one part after
// another, and writes one report: for people on standard output, as JSON in verify-report.json. See docs/release.md.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { chooseParts, parts } from "./verify/parts.js";
import { exitCodeOf, reportOf, reportText } from "./verify/report.js";
import { runPart } from "./verify/run-part.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const choice = chooseParts(process.argv.slice(2));
if ("problem" in choice) {
  console.error(choice.problem);
  process.exit(2);
}

const rows = [];
for (const part of choice.chosen) {
  console.error(`${part.name} …`);
  rows.push(await runPart(part, { cwd: root }));
  if (process.exitCode === 130) process.exit(130); // interrupted: the rest is not asked
}
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const facts = { version, node: process.version, platform: process.platform, at: new Date().toISOString() };
const report = reportOf(rows, { all: parts, ...facts });
writeFileSync(choice.file, `${JSON.stringify(report, null, 2)}\n`);
console.log(reportText(report));
process.exitCode = exitCodeOf(report);
