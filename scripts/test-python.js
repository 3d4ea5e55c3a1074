// Runs the kernel's own tests with the installed Python. Without one they are reported as skipped: the WASM runner has its
// own interpreter, so a machine with only Node still passes.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { findPython } from "./find-python.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const python = findPython();
const required = (process.env.REQUIRE_RUNNERS ?? "").split(",").includes("process");

if (python === undefined) {
  console.log("skipped: the kernel's Python tests (apt install python3)");
  process.exitCode = required ? 1 : 0;
} else {
  const args = ["-B", "-m", "unittest", "discover", "-s", "python/tests", "-t", "python"];
  const result = spawnSync(python, args, { cwd: root, stdio: "inherit", timeout: 120_000 });
  process.exitCode = result.status ?? 1;
}
