/**
 * How a part ended. `missing`: its command does not exist.
 * @typedef {"passed" | "failed" | "timed out" | "missing"} Status
 * @typedef {{ name: string, asks: string, command: string, status: Status, seconds: number, detail: string }} Row
 */

/**
 * Pure: the report of a release. It passes only if every part of a release was asked and passed; a choice of parts that passed
 * is `partial`.
 * @param {readonly Row[]} rows
 * @param {{ all: readonly { name: string }[], version: string, node: string, platform: string, at: string }} facts
 */
export function reportOf(rows, { all, ...facts }) {
  const notAsked = all.map(({ name }) => name).filter((name) => !rows.some((row) => row.name === name));
  const isGood = rows.length > 0 && rows.every(({ status }) => status === "passed");
  const verdict = !isGood ? "failed" : notAsked.length > 0 ? "partial" : "passed";
  const seconds = Math.round(rows.reduce((sum, row) => sum + row.seconds, 0) * 10) / 10;
  return { verdict, ...facts, seconds, notAsked, parts: rows };
}

/** 0: every part that was asked passed. 1: one did not, or is missing. */
export function exitCodeOf({ verdict }) {
  return verdict === "failed" ? 1 : 0;
}

/** The report for people: a line per part, then what failed. */
export function reportText({ verdict, version, seconds, notAsked, parts }) {
  const lines = parts.map(({ name, status, seconds, asks }) => {
    return `${status.padEnd(9)}  ${name.padEnd(8)} ${String(seconds).padStart(7)} s  ${asks}`;
  });
  const failures = parts
    .filter(({ status }) => status !== "passed")
    .flatMap(({ name, status, command, detail }) => ["", `${name} ${status}: ${command}`, detail]);
  const left = notAsked.length > 0 ? [`not asked: ${notAsked.join(", ")}`] : [];
  return [`codecell ${version}: ${verdict} in ${seconds} s`, ...lines, ...left, ...failures].join("\n");
}
