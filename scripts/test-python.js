// Runs the kernel's own tests, and those of the Python client that need no service, with the installed Python. Without one they are reported as skipped: the WASM runner has its
// own interpreter, so a machine with only Node still passes.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { findPython } from "./find-python.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const python = findPython();
const required = (process.env.REQUIRE_RUNNERS ?? "").split(",").includes("process");

if (python === undefined) {
  console.log("skipped: the Python tests of the kernel and of the client (apt install python3)");
  process.exitCode = required ? 1 : 0;
} else {
  const suites = [
    { cwd: root, args: ["-s", "python/tests", "-t", "python"] },
    { cwd: `${root}/python/codecell_client`, args: ["-s", "tests/unit", "-t", "."] },
  ];
  for (const { cwd, args } of suites) {
    const argv = ["-B", "-m", "unittest", "discover", ...args];
    const result = spawnSync(python, argv, { cwd, stdio: "inherit", timeout: 120_000 });
    process.exitCode = process.exitCode || (result.status ?? 1);
  }
}
