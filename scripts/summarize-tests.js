// Summarizes the JSON reports of several test runs: how many tests passed, which were skipped, and which failed and why.
// Failures come last, because people read the end of a log first. Exits with 1 if any test failed.
// Usage: node scripts/summarize-tests.js REPORT.json...
import { readFileSync } from "node:fs";
import { basename, relative } from "node:path";

const MESSAGE_LINES = 12;
const SHOWN_TITLES = 3;
const counts = [];
const skipped = new Map();
const failed = [];

for (const path of process.argv.slice(2)) {
  const report = JSON.parse(readFileSync(path, "utf8"));
  const passed = report.numPassedTests;
  counts.push(`${basename(path, ".json")}: ${passed} of ${report.numTotalTests} tests passed`);
  for (const file of report.testResults) {
    const name = relative(process.cwd(), file.name);
    if (file.status === "failed" && file.assertionResults.every((test) => test.status !== "failed")) {
      failed.push(`${name}\n${firstLines(file.message)}`);
    }
    for (const test of file.assertionResults) {
      if (test.status === "failed") {
        failed.push(`${name} > ${test.fullName}\n${firstLines(test.failureMessages.join("\n"))}`);
      } else if (test.status !== "passed") {
        skipped.set(name, [...(skipped.get(name) ?? []), `${test.fullName} (${test.status})`]);
      }
    }
  }
}

console.log(counts.join("\n"));
for (const [name, titles] of skipped) {
  const shown = titles.slice(0, SHOWN_TITLES);
  if (titles.length > shown.length) shown.push(`… and ${titles.length - shown.length} more`);
  console.log(`not run in ${name}, ${titles.length}:\n${shown.map((title) => `  ${title}`).join("\n")}`);
}
for (const failure of failed) console.log(`\nFAILED ${failure}`);
process.exitCode = failed.length > 0 ? 1 : 0;

function firstLines(text) {
  return text
    .split("\n")
    .slice(0, MESSAGE_LINES)
    .map((line) => `    ${line}`)
    .join("\n");
}
