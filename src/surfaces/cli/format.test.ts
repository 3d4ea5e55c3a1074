import { expect, test } from "vitest";
import { CodecellError } from "../../lib/errors.ts";
import { type Diagnosis, diagnosisJson, diagnosisText } from "./format/format-doctor.ts";
import { explanationJson, explanationText, receiptText, shortReceiptText } from "./format/format-plan.ts";
import { variablesText } from "./format/format-variables.ts";
import { formatBytes } from "./format/text/format-bytes.ts";
import { plainStyle, styleFor } from "./format/text/style.ts";
import { failureJson, failureText } from "./shell/report-failure.ts";

const missingEngine = { available: false, reason: "no container engine answers", hint: "start Docker" } as const;
const diagnosis: Diagnosis = {
  runners: [
    { name: "gvisor", probe: missingEngine },
    { name: "container", probe: missingEngine },
    {
      name: "process",
      insideSandbox: "blocked",
      probe: { available: false, reason: "bubblewrap is not installed", hint: "apt install bubblewrap" },
    },
    { name: "wasm", probe: { available: true, version: "pyodide 1", guarantees: ["no-network", "no-native-code"] } },
  ],
  choice: {
    runner: "wasm",
    passedOver: [
      {
        kind: "unavailable" as const,
        runner: "process",
        reason: "bubblewrap is not installed",
        hint: "apt install bubblewrap",
      },
    ],
  },
  outer: undefined,
  versions: { codecell: "1.0.0", node: "20.19.0", system: "linux" },
};

test("doctor says its verdict first, then what works, then each fix once for all runners that share it", () => {
  const [summary, runners = "", fixes = "", versions] = diagnosisText(diagnosis, plainStyle, 80).split("\n\n");
  expect(summary).toBe("codecell works on this machine: 1 of 4 runners are available\nauto chooses wasm");
  expect(runners).toMatch(/^ {2}✓ {2}wasm +available: pyodide 1\n +guarantees no-network, no-native-code$/);
  expect(fixes.split("\n").map((line) => line.trim().replace(/ +/g, " "))).toEqual([
    "✗ gvisor, container not available: no container engine answers",
    "fix: start Docker",
    "✗ process not available: bubblewrap is not installed",
    "fix: apt install bubblewrap",
  ]);
  expect(versions).toBe("codecell 1.0.0, Node 20.19.0, linux\n");
});

test("doctor says why auto skips a stronger runner that is available", () => {
  const refused = { kind: "refused", runner: "container", reason: "has no image", hint: "build one" } as const;
  const text = diagnosisText({ ...diagnosis, choice: { runner: "wasm", passedOver: [refused] } }, plainStyle, 80);
  expect(text).toContain("auto chooses wasm\n  skipped container: has no image (build one)\n");
});

test("doctor says first when no runner is available", () => {
  const text = diagnosisText({ ...diagnosis, choice: undefined }, plainStyle, 80);
  expect(text).toMatch(/^codecell cannot run code on this machine: no runner is available\n/);
  expect(diagnosisJson({ ...diagnosis, choice: undefined })).toMatchObject({ auto: null, passed_over: [] });
});

test("doctor names the sandbox around codecell, and the fix if a runner does not start in it", () => {
  const outer = { kind: "srt", name: "the sandbox runtime (srt)", remedy: "start codecell outside of it" } as const;
  const text = diagnosisText({ ...diagnosis, outer }, plainStyle, 80);
  expect(text).toContain("codecell runs inside the sandbox runtime (srt): start codecell outside of it\n");
  const runners = diagnosis.runners.filter(({ name }) => name === "wasm");
  expect(diagnosisText({ ...diagnosis, runners, outer }, plainStyle, 80)).toContain("the sandbox runtime (srt)\n");
  expect(diagnosisJson({ ...diagnosis, outer })).toMatchObject({ inside: { kind: "srt" } });
});

test("doctor warns of an engine's socket in a container, which is as good as root on the engine's host", () => {
  const outer = { kind: "container", name: "a docker container", remedy: "use the wasm runner" } as const;
  const probe = { available: true, version: "Docker 28", guarantees: [] } as const;
  const engine = { name: "container", insideSandbox: "needs engine", controlsMachine: true, probe } as const;
  const warned = { ...diagnosis, runners: [engine, ...diagnosis.runners], outer };
  const warning = /warning: this container can use the engine of container: .* root on its host/;
  expect(diagnosisText(warned, plainStyle, 500)).toMatch(warning);
  expect(diagnosisJson(warned)).toMatchObject({ warnings: [expect.stringMatching(warning)] });
  for (const other of [
    { ...warned, outer: undefined },
    { ...diagnosis, outer },
  ]) {
    expect(diagnosisText(other, plainStyle, 500)).not.toContain("warning");
    expect(diagnosisJson(other)).toMatchObject({ warnings: [] });
  }
});

const rule = { rule: "proc.memory", value: "512MiB", by: "os", how: "cgroup v2 memory.max" } as const;
const refused = { rule: "net.enabled", value: "true", reason: "there is no proxy", hint: "set it to false" };

test("policy explain lists each rule, and each refused rule with its reason and hint", () => {
  const plan = { rules: [rule], refused: [refused], notes: ["shares the kernel"] };
  const explanation = { runner: "process", runnerVersion: "1", file: undefined, plan, passedOver: [] };
  const text = explanationText(explanation, plainStyle, 80);
  expect(text).toContain("RULE         VALUE   BY  HOW\nproc.memory  512MiB  os  cgroup v2 memory.max\n");
  expect(text).toContain("REFUSED");
  expect(text).toContain("  net.enabled (true): there is no proxy\n    hint: set it to false\n");
  expect(text).toContain("NOTES\n  - shares the kernel\n");
  expect(explanationJson(explanation)).toMatchObject({ holds: false, refused: [refused], rules: [rule] });
});

test("a receipt is printed as a table", () => {
  const receipt = { runner: "process", runnerVersion: "1", policyHash: "ab".repeat(32), rules: [rule], notes: [] };
  expect(receiptText(receipt, plainStyle, 80)).toContain("policy sha256 abababababab…\n\nRULE");
});

test("a short receipt has the highlights and every rule that is not at its default, and counts the other rows", () => {
  const changed = { rule: "net.allowlist", value: "packages.example", by: "host", how: "the proxy" } as const;
  const atDefault = { rule: "net.deny", value: "none", by: "host", how: "the proxy" } as const;
  const rules = [rule, changed, atDefault];
  const receipt = { runner: "process", runnerVersion: "1", policyHash: "ab".repeat(32), rules, notes: [] };
  const text = shortReceiptText(receipt, plainStyle, 80, "see --full");
  expect(text).toMatch(/^proc\.memory +512MiB/m);
  expect(text).toMatch(/^net\.allowlist +packages\.example/m);
  expect(text).not.toContain("net.deny");
  expect(text).toMatch(/\n\nand 1 more row: see --full\n$/);
});

test("the list of variables has one line per variable, which no variable can forge", () => {
  const text = variablesText([{ name: "x", type: "str", size: 5, summary: "'a\nb\u001b[2J'" }], plainStyle, 80);
  expect(text).toBe("NAME  TYPE  SIZE  VALUE\nx     str   5 B   'a b^[[2J'\n");
  expect(variablesText([], plainStyle, 80)).toBe("no variables\n");
});

test("a failure is printed with its hint, and as JSON with its code", () => {
  const error = new CodecellError("runner_unavailable", "bubblewrap is not installed", { hint: "apt install it" });
  expect(failureText(error, plainStyle)).toBe("codecell: bubblewrap is not installed\nhint: apt install it\n");
  expect(JSON.parse(failureJson(error))).toEqual({
    error: { code: "runner_unavailable", message: "bubblewrap is not installed", hint: "apt install it" },
  });
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [12_345, "12.1 KiB"],
  [5 * 2 ** 30, "5 GiB"],
  [3000 * 2 ** 30, "3000 GiB"],
])("formatBytes shows %i bytes as %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test("colours are used only on a terminal without NO_COLOR", () => {
  const output = (isTTY: boolean) => ({ isTTY, columns: 80, write() {} });
  expect(styleFor(output(true), {}).red("x")).not.toBe("x");
  expect(styleFor(output(true), { NO_COLOR: "1" }).red("x")).toBe("x");
  expect(styleFor(output(true), { NO_COLOR: "" }).red("x")).not.toBe("x");
  expect(styleFor(output(false), {}).red("x")).toBe("x");
});
