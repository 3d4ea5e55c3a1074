import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { keeper, openEngineHome } from "../support/engine-home.ts";
import { eventually, marked } from "../support/process-cells.ts";

/** The process that is killed is a separate one: killing vitest's own would end this test. */
const dying = `
const { spawn } = require("node:child_process");
const child = spawn("sh", ["-c", process.argv[1], "sh", process.argv[2], "codecell-test-none"], {
  stdio: ["pipe", "ignore", "inherit"], detached: true,
});
child.once("spawn", () => console.log("up"));
setInterval(() => {}, 1000);
`;

test("an engine's files and processes are removed after the tests were killed", async () => {
  await using home = await openEngineHome();
  const directory = join(home.directory, "inner");
  await mkdir(join(directory, "data"), { recursive: true });
  await writeFile(join(directory, "log"), "");
  const stubborn = spawn("tail", ["-f", join(directory, "log")], { stdio: "ignore" });
  if (process.getuid?.() === 0) execFileSync("mount", ["-t", "tmpfs", "none", join(directory, "data")]);
  const tests = spawn(process.execPath, ["-e", dying, keeper, directory], { stdio: ["ignore", "pipe", "inherit"] });
  await once(tests.stdout, "data");
  expect(marked(`tail -f ${directory}`)).toHaveLength(1);
  const ended = once(stubborn, "exit");
  tests.kill("SIGKILL");
  await ended;
  expect(await eventually(() => !existsSync(directory))).toBe(true);
  expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(directory);
});
