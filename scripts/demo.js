// Shows what codecell does, in under a minute: one session, four runs, and the receipt. `--runner wasm` chooses a runner,
// `--full` prints every row of the receipt.
import { parseArgs } from "node:util";
import { Codecell, CodecellError } from "../dist/index.js";
import { receiptText, shortReceiptText } from "../dist/surfaces/cli/format/format-plan.js";
import { safeText } from "../dist/surfaces/cli/format/text/safe-text.js";
import { styleFor } from "../dist/surfaces/cli/format/text/style.js";

const { values } = parseArgs({
  options: { runner: { type: "string", default: "auto" }, full: { type: "boolean", default: false } },
});
const style = styleFor({ isTTY: process.stdout.isTTY === true }, process.env);
const width = process.stdout.isTTY ? process.stdout.columns || 80 : 120;

const steps = [
  {
    title: "write a file of measurements into the session's workspace",
    code: `
import csv, random
random.seed(7)
with open("readings.csv", "w", newline="") as file:
    writer = csv.writer(file)
    writer.writerow(["day", "city", "celsius"])
    for day in range(1, 31):
        for city, base in [("Lisbon", 21), ("Oslo", 9), ("Nairobi", 25)]:
            value = round(random.gauss(base, 3), 1)
            writer.writerow([day, city, value if day != 17 or city != "Oslo" else "n/a"])
print("wrote", sum(1 for _ in open("readings.csv")), "lines")`,
    expect: { status: "ok", stdout: "wrote 91 lines\n" },
  },
  {
    title: "read it back; the one value that is not a number makes it fail",
    code: `
rows = list(csv.DictReader(open("readings.csv")))
by_city = {}
for row in rows:
    by_city.setdefault(row["city"], []).append(float(row["celsius"]))`,
    expect: { status: "error" },
  },
  {
    title: "look at the variables: the failed run lost none",
    code: `
print(len(rows), "rows are still here; the run stopped at", row)
bad = [row for row in rows if row["celsius"] == "n/a"]`,
    expect: { status: "ok" },
  },
  {
    title: "try again without it",
    code: `
from statistics import mean, stdev
by_city = {}
for row in rows:
    if row not in bad:
        by_city.setdefault(row["city"], []).append(float(row["celsius"]))
print(f"{'city':<8} {'days':>4} {'mean':>6} {'stdev':>6}")
for city, values in sorted(by_city.items()):
    print(f"{city:<8} {len(values):>4} {mean(values):>6.1f} {stdev(values):>6.1f}  {'#' * round(mean(values))}")
max(by_city, key=lambda city: mean(by_city[city]))`,
    expect: { status: "ok", value: "'Nairobi'" },
  },
];

async function demo() {
  const logger = { debug() {}, info: progress, warn: progress, error: progress };
  const codecell = await Codecell.open({ policy: { isolation: { runner: values.runner } }, logger });
  try {
    const session = await codecell.session();
    say(`One session in the ${style.bold(codecell.runner)} runner, Python ${await session.pythonVersion()}.`);
    for (const [index, step] of steps.entries()) await perform(session, step, index + 1);
    say("\n", style.bold("The receipt: what enforced each rule"));
    const receipt = await session.receipt();
    const whole = "npm run demo -- --full";
    const text = values.full ? receiptText(receipt, style, width) : shortReceiptText(receipt, style, width, whole);
    process.stdout.write(text);
    explainChoice(codecell);
  } finally {
    await codecell.close(); // ends the session with it
  }
}

async function perform(session, step, number) {
  say("\n", style.bold(`${number}. ${step.title}`));
  const code = step.code.trim();
  say(style.dim(code.replace(/^/gm, "    ")));
  const run = session.run(code);
  for await (const event of run) if (event.type === "stdout") process.stdout.write(safeText(event.text));
  const result = await run;
  if (result.error) say(style.yellow(safeText(result.error.traceback.trimEnd())));
  if (result.value !== undefined) say(`→ ${safeText(result.value)}`);
  say(style.dim(`(${result.status}, variables ${result.state}, ${Math.round(result.durationMs)} ms)`));
  for (const [field, expected] of Object.entries(step.expect)) {
    if (result[field] === expected) continue;
    throw new Error(`step ${number}: ${field} is ${JSON.stringify(result[field])} and not ${JSON.stringify(expected)}`);
  }
}

function explainChoice({ choice }) {
  if (values.runner !== "auto" || choice.passedOver.length === 0) return;
  say("\n", style.bold("Stronger runners that were skipped, and why"));
  const skipped = new Map();
  for (const { runner: name, reason, hint } of choice.passedOver) {
    const why = `${reason}\n    fix: ${hint}`;
    skipped.set(why, [...(skipped.get(why) ?? []), name]);
  }
  for (const [why, names] of skipped) say(`  ${names.join(", ")}: ${why}`);
}

function progress(message) {
  say(style.dim(message));
}

function say(...parts) {
  process.stdout.write(`${parts.join("")}\n`);
}

try {
  await demo();
} catch (error) {
  const hint = error instanceof CodecellError && error.hint ? `\nhint: ${error.hint}` : "";
  process.stderr.write(`the demo failed: ${error instanceof Error ? error.message : error}${hint}\n`);
  process.exitCode = 1;
}
