// npm test: the static checks, the unit tests and one pass of each available runner's contract. The last line says what
// was skipped and how to enable it. `npm run test:all` runs everything.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findPython } from "./find-python.js";
import { isBuilt } from "./is-built.js";
import { skippedLine } from "./skipped-line.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const bin = (name) => join(root, "node_modules/.bin", name);
const reports = mkdtempSync(join(tmpdir(), "codecell-test-"));
const report = join(reports, "report.json");
const hasPython = findPython() !== undefined;
/** Each thread of the compiler checks types again that another has checked: a third of its work, for cores that are busy anyway. */
const threads = availableParallelism() <= 2 ? ["--singleThreaded"] : [];

try {
  // the build comes first, because runners start the built files
  const built = isBuilt(root) || (await step("build", "npm", ["run", "build"]));
  const passed = built && (await staticChecks()) && (await tests());
  process.exitCode = passed ? 0 : 1;
  if (existsSync(report)) console.log(skippedLine(JSON.parse(readFileSync(report, "utf8")), { hasPython }));
} finally {
  rmSync(reports, { recursive: true, force: true });
}

async function staticChecks() {
  const checks = await Promise.all([
    step("lint", bin("biome"), ["check", "--error-on-warnings", "."]),
    step("types", bin("tsc"), ["--noEmit", ...threads]),
    step("types of the dashboard", bin("tsc"), ["--noEmit", "-p", "dashboard", ...threads]),
    ...(hasPython ? [step("kernel", process.execPath, ["scripts/test-python.js"])] : []),
  ]);
  return checks.every(Boolean);
}

async function tests() {
  const projects = ["--project", "unit", "--project", "contract"];
  const reporters = ["--reporter", "dot", "--reporter", "json", `--outputFile.json=${report}`];
  return (await run(bin("vitest"), ["run", "--silent=passed-only", ...projects, ...reporters], "inherit")).code === 0;
}

/** Prints one line if the step passes, and all its output if it fails. */
async function step(name, command, args) {
  const began = Date.now();
  const { code, output } = await run(command, args, "pipe");
  const seconds = ((Date.now() - began) / 1000).toFixed(1);
  console.log(code === 0 ? `${name}: passed in ${seconds} s` : `${output}\n${name}: FAILED with exit code ${code}`);
  return code === 0;
}

function run(command, args, stdio) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: ["ignore", stdio, stdio] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (bytes) => (output += bytes));
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
