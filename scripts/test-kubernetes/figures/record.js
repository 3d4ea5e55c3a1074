import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { stepNames } from "../step-names.js";
import { figuresText } from "./figures.js";

const docs = new URL("../../../docs/", import.meta.url);
const dataFile = fileURLToPath(new URL("kubernetes-figures.json", docs));
const pageFile = fileURLToPath(new URL("kubernetes-figures.md", docs));

/**
 * Keeps a report in docs/: as JSON, and as the page that is made of it. Each step has its own date: a run of some steps replaces those.
 * @param {{ at: string, steps: readonly object[] }} report
 */
export async function recordFigures(report) {
  const before = existsSync(dataFile) ? JSON.parse(await readFile(dataFile, "utf8")) : { steps: [] };
  const merged = mergeReports(before, report);
  await writeFile(dataFile, `${JSON.stringify(merged, null, 2)}\n`);
  await writeFile(pageFile, figuresText(merged));
}

/** Pure. The facts are those of the last run. */
export function mergeReports(before, { steps, ...facts }) {
  const dated = steps.map((step) => ({ at: facts.at, ...step }));
  const byName = new Map([...before.steps, ...dated].map((step) => [step.name, step]));
  return { ...facts, steps: stepNames.flatMap((name) => byName.get(name) ?? []) };
}
