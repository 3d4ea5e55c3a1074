import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { availableRunners, CodecellProcess, root } from "./codecell-process.ts";

const runners = await availableRunners();
const script = (path: string, ...argv: string[]) => new CodecellProcess(join(root, path), argv).finished;

// without an option, the demo uses the first runner
test.each([[], ...runners.slice(1).map((runner) => ["--runner", runner])])(
  "the demo recovers from an error, keeps its data and prints a receipt (%s %s)",
  async (...argv) => {
    const { code, stdout, stderr } = await script("scripts/demo.js", ...argv.filter(Boolean));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("ValueError: could not convert string to float: 'n/a'");
    expect(stdout).toContain("90 rows are still here");
    expect(stdout).toContain("→ 'Nairobi'");
    expect(stdout).toMatch(/^net\.enabled +false +\w+/m);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a pipe gets no colours
    expect(stdout).not.toMatch(/\u001b/);
  },
);

test("the demo prints only the main rows of the receipt, and every row with --full", async () => {
  const [short, full] = await Promise.all([script("scripts/demo.js"), script("scripts/demo.js", "--full")]);
  expect(short.stdout).not.toMatch(/^net\.requests /m);
  expect(full.stdout).toMatch(/^net\.requests /m);
  const rows = (text: string) => text.match(/^(?:\w+\.\w+|env) {2,}\S.*$/gm)?.length ?? 0;
  expect(rows(short.stdout)).toBeLessThan(15);
  const left = rows(full.stdout) - rows(short.stdout);
  expect(short.stdout).toContain(`\nand ${left} more rows: npm run demo -- --full\n`);
});

test("the demo explains in one sentence why it cannot run", async () => {
  const { code, stdout, stderr } = await script("scripts/demo.js", "--runner", "microvm");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("the demo failed: there is no runner named microvm");
});

describe("examples", () => {
  test("examples/session.js keeps state", async () => {
    const { code, stdout } = await script("examples/session.js");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "error list index out of range\n19.2 [ 3, 5, 8 ]\n" });
  });

  test("examples/stream.js prints events as they arrive", async () => {
    const { code, stdout } = await script("examples/stream.js");
    expect(code).toBe(0);
    // lines that a slow machine reads at once are one event
    expect(stdout).toMatch(/^stdout: step 0\n(stdout: )?step 1\n(stdout: )?step 2\nstderr: a warning\nok in \w+\n$/);
  });

  test("examples/limits.js stops an endless run and continues", async () => {
    const { code, stdout } = await script("examples/limits.js");
    expect(code).toBe(0);
    expect(stdout).toMatch(/^timeout kept\n\['kept'\]\nproc\.timeout 1s enforced by /);
  });
});
