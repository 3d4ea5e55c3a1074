import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { root } from "./context.js";
import { expect } from "./expect.js";

const limitMs = 900_000;

/** @type {import("./steps.js").Step} */
export const contract = {
  name: "contract",
  asks: "do pods keep the contract that every runner keeps?",
  async run(context) {
    const report = join(context.directory, "contract.json");
    const config = join(root, "scripts/test-kubernetes/contract/vitest.config.ts");
    const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${report}`];
    const child = spawn(join(root, "node_modules/.bin/vitest"), ["run", "--config", config, ...reporters], {
      cwd: root,
      env: { ...context.env, REQUIRE_RUNNERS: "kubernetes" },
      stdio: ["ignore", 2, 2],
      timeout: limitMs,
    });
    const [code] = await once(child, "exit");
    const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(await readFile(report, "utf8"));
    const failed = testResults.flatMap(({ assertionResults }) =>
      assertionResults.filter(({ status }) => status === "failed").map(({ fullName }) => fullName),
    );
    expect(code === 0, `the contract holds (${numFailedTests} of ${numPassedTests + numFailedTests} failed)`, failed);
    return {
      detail: `${numPassedTests} tests passed, ${numPendingTests} do not apply`,
      figures: { contractTests: numPassedTests },
    };
  },
};
