// npm run fuzz [-- SECONDS] [-- VITEST-ARGUMENTS…]: the properties of test/fuzz and the mutated frames of test/escape with new
// seeds, for this long each (default 60 s). FUZZ_SEED=N repeats a failure; fast-check prints its seed.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const words = process.argv.slice(2);
const seconds = /^\d+$/.test(words[0] ?? "") ? words.shift() : (process.env.FUZZ_SECONDS ?? "60");
const factor = process.env.FUZZ_RUNS ?? "100";
const files = words.length > 0 ? words : ["test/fuzz/", "test/escape/mutated-frames.test.ts"];
const argv = ["node_modules/vitest/vitest.mjs", "run", "--project", "unit", "--project", "runtime", ...files];
const env = { ...process.env, FUZZ_SECONDS: seconds, FUZZ_RUNS: factor };
const root = fileURLToPath(new URL("..", import.meta.url));
const { status } = spawnSync(process.execPath, argv, { cwd: root, stdio: "inherit", env });
process.exitCode = status ?? 1;
