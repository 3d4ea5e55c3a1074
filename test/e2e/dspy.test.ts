import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findProgram } from "../support/find-program.ts";
import { isThorough } from "../support/thorough.ts";
import { availableRunners, launcher, root } from "./codecell-process.ts";

const python = findProgram("python3");
const isMissing = python === undefined || !(await availableRunners()).includes("process");
const isRequired = (process.env.REQUIRE_RUNNERS ?? "").split(",").includes("process");

// A release asks it (docs/adr/0055): each run asks the Python client below it, and the service.
describe.skipIf((isMissing && !isRequired) || !isThorough)("the interpreter for DSPy", () => {
  test("passes its own tests against the built service", { timeout: 600_000 }, async () => {
    const child = spawn(python ?? "python3", ["-B", "-m", "unittest", "discover", "-s", "tests", "-t", "."], {
      cwd: join(root, "python/codecell_dspy"),
      env: { ...process.env, CODECELL_TEST_COMMAND: JSON.stringify([process.execPath, launcher]), CODECELL_POLICY: "" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let report = "";
    child.stderr.on("data", (bytes) => {
      report += bytes;
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code, report).toBe(0);
    // Only the test with DSPy itself may be skipped: DSPy is no dependency.
    expect(report).toMatch(/OK( \(skipped=1\))?\s*$/);
  });
});
