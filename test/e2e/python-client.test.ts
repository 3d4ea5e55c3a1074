import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findProgram } from "../support/find-program.ts";
import { availableRunners, launcher, root } from "./codecell-process.ts";

const python = findProgram("python3");
const isMissing = python === undefined || !(await availableRunners()).includes("process");
const isRequired = (process.env.REQUIRE_RUNNERS ?? "").split(",").includes("process");

describe.skipIf(isMissing && !isRequired)("the Python client", () => {
  test("passes its own tests and the examples of its docs against the built service", {
    timeout: 300_000,
  }, async () => {
    const child = spawn(python ?? "python3", ["-B", "-m", "unittest", "discover", "-s", "tests/service", "-t", "."], {
      cwd: join(root, "python/codecell_client"),
      env: { ...process.env, CODECELL_TEST_COMMAND: JSON.stringify([process.execPath, launcher]), CODECELL_POLICY: "" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let report = "";
    child.stderr.on("data", (bytes) => {
      report += bytes;
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code, report).toBe(0);
    expect(report).toMatch(/^OK\s*$/m); // and nothing is skipped
  });
});
