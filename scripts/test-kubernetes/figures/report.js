/** Pure: the results of the steps, for people. */
export function reportText({ at, kubernetes, steps }) {
  const lines = steps.map(
    ({ name, status, seconds, detail }) => `${status.padEnd(7)} ${name} (${seconds} s): ${detail}`,
  );
  const failed = steps.filter(({ status }) => status === "failed").length;
  const end = failed === 0 ? "all steps passed" : `${failed} of ${steps.length} steps failed`;
  return [`Kubernetes ${kubernetes}, ${at}`, ...lines, end].join("\n");
}
