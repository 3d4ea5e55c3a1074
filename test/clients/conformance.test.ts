import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cleanup } from "../../src/lib/cleanup.ts";
import {
  bearerTransport,
  httpAddress,
  newClient,
  newTestDirectories,
  startHttp,
  stopped,
  type TestDirectories,
} from "../e2e/mcp-client.ts";
import { installed } from "./installed.ts";
import { lacking } from "./lacking.ts";
import { runToEnd } from "./run-to-end.ts";
import { startTokenRelay } from "./token-relay.ts";

/** Accepted reasons for a failed check: the server does not offer the feature. Any other reason is a bug of the server. */
const notOffered = [
  /(Tool|Prompt) '?\w+'? not found/,
  /Resource not found: test:\/\//,
  /Method not found/, // prompts, logging and subscriptions; the capabilities do not name them
  /^Not testable: (server exposes no tool with x-mcp-header|server does not list the diagnostic tool|no task was created)/,
  /^(Expected InputRequiredResult|Prerequisite failed: could not get initial InputRequiredResult)/,
  /^capabilities\.extensions MUST be advertised/, // the extension for tasks
  /^tasks\/get MUST return -32021; got -32601/,
  /^expected -32602; got -32601/, // tasks/get
  /^tools\/call for failing_job returned error code -32602/,
  /^routing-task fixture .* unavailable/,
];

interface Check {
  readonly id: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  readonly errorMessage?: string;
}

describe.skipIf(await lacking("conformance", "node22", "process runner"))("the official conformance suite", () => {
  const cleanup = new Cleanup();
  let directories: TestDirectories;
  let url: string;

  beforeAll(async () => {
    directories = await newTestDirectories();
    cleanup.defer(() => rm(directories.top, { recursive: true, force: true }));
    const server = startHttp(directories);
    cleanup.defer(() => stopped(server));
    const { url: target, token } = await httpAddress(server);
    await makeAnArtifact(target, token);
    const relay = await startTokenRelay(target, token); // the suite cannot send a token
    cleanup.defer(() => relay[Symbol.asyncDispose]());
    url = relay.url;
  });
  afterAll(() => cleanup[Symbol.asyncDispose]());

  test.each([
    ["2025-11-25", 42],
    ["2026-07-28", 105],
  ])("reports only the failures that the baseline lists, for the requirements of %s", async (set, atLeast) => {
    const results = join(directories.top, set);
    const baseline = join(import.meta.dirname, "conformance", `${set}.yml`);
    const { code, stdout, stderr } = await runToEnd(
      installed.node22,
      [
        installed.conformance,
        "server",
        "--url",
        url,
        "--requirements",
        set,
        "--expected-failures",
        baseline,
        "-o",
        results,
      ],
      { env: { PATH: process.env.PATH ?? "", HOME: directories.top } },
    );
    expect(`${code} ${code === 0 ? "" : stdout + stderr}`).toBe("0 ");
    const checks = await checksIn(results);
    const unexplained = checks.filter(
      ({ status, errorMessage = "" }) =>
        status === "FAILURE" && !notOffered.some((reason) => reason.test(errorMessage)),
    );
    expect(unexplained).toEqual([]);
    expect(checks.filter(({ id }) => id === "wire-schema-valid").every(({ status }) => status === "SUCCESS")).toBe(
      true,
    );
    // fail if the suite runs fewer checks than before
    expect(checks.filter(({ status }) => status === "SUCCESS").length).toBeGreaterThanOrEqual(atLeast);
  });
});

/** Makes the server list a resource, which several checks need. */
async function makeAnArtifact(url: URL, token: string): Promise<void> {
  const client = newClient("modern");
  await client.connect(bearerTransport(url, token));
  await client.callTool({ name: "run_python", arguments: { code: "open('table.csv', 'w').write('a,b')" } });
  await client.close();
}

async function checksIn(directory: string): Promise<Check[]> {
  const scenarios = await readdir(directory);
  const all = await Promise.all(scenarios.map((name) => readFile(join(directory, name, "checks.json"), "utf8")));
  return all.flatMap((text) => JSON.parse(text) as Check[]);
}
