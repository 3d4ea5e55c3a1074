import { expect, test } from "vitest";
// @ts-expect-error: a script without types
import { skippedLine } from "../scripts/skipped-line.js";

const all = "`npm run test:all` also runs the escape, fault, end-to-end, container and client tests.";

function report(...tests: { status: string; missing?: { name: string; reason: string; hint: string } }[]) {
  const assertionResults = tests.map(({ status, missing }) => ({ status, meta: missing ? { missing } : {} }));
  return { testResults: [{ assertionResults }] };
}

test("the last line of npm test says that nothing was skipped", () => {
  expect(skippedLine(report({ status: "passed" }, { status: "failed" }), { hasPython: true })).toBe(
    `Nothing was skipped. ${all}`,
  );
});

test("the last line of npm test names each missing runner once, with how to enable it", () => {
  const bubblewrap = { name: "process", reason: "bubblewrap is not installed", hint: "apt install bubblewrap" };
  const docker = { name: "container", reason: "no Docker answers", hint: "start Docker" };
  const gvisor = { name: "gvisor", reason: "no Docker answers", hint: "start Docker" };
  const missing = [bubblewrap, bubblewrap, docker, gvisor, docker].map((one) => ({ status: "skipped", missing: one }));
  expect(skippedLine(report(...missing, { status: "skipped" }), { hasPython: false })).toBe(
    "Skipped: process (to enable: apt install bubblewrap); container, gvisor (to enable: start Docker); " +
      `the kernel's Python tests (to enable: sudo apt install python3); 1 test that this machine cannot run. ${all}`,
  );
});
