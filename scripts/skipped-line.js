/**
 * Pure: one line about the tests that were skipped and how to enable them, from a JSON report. Skipped suites have the
 * reason in their metadata (test/contract/required.ts).
 * @param {{ testResults: { assertionResults: { status: string, meta?: { missing?: { name: string, hint: string } } }[] }[] }} report
 * @param {{ hasPython: boolean }} facts
 */
export function skippedLine(report, { hasPython }) {
  const tests = report.testResults.flatMap((file) => file.assertionResults);
  const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");
  /** each hint, with what it enables */
  const byHint = new Map();
  for (const { meta } of skipped) {
    if (!meta?.missing) continue;
    const names = byHint.get(meta.missing.hint) ?? new Set();
    byHint.set(meta.missing.hint, names.add(meta.missing.name));
  }
  const parts = [...byHint].map(([hint, names]) => `${[...names].join(", ")} (to enable: ${hint})`);
  if (!hasPython) parts.push("the kernel's Python tests (to enable: sudo apt install python3)");
  const others = skipped.filter(({ meta }) => !meta?.missing).length;
  if (others > 0) parts.push(`${others} ${others === 1 ? "test" : "tests"} that this machine cannot run`);
  const what = parts.length === 0 ? "Nothing was skipped." : `Skipped: ${parts.join("; ")}.`;
  return `${what} \`npm run test:all\` also runs the escape, fault, end-to-end, container and client tests.`;
}
