import { printable } from "../../../policy/file/problem.ts";
import type { ClusterDiagnosis } from "../../../sessions/cluster-diagnosis.ts";
import type { Style } from "../format/text/style.ts";
import { wrapText } from "../format/text/table.ts";

/** Pure: whether cells can run, as far as it was looked at. */
export function canRunCells({ checks }: Pick<ClusterDiagnosis, "checks">): boolean {
  return checks.every(({ state }) => state !== "missing");
}

/** The verdict first, then each check with its fix. */
export function clusterText(diagnosis: ClusterDiagnosis, style: Style, width: number): string {
  const { checks, server, namespace } = diagnosis;
  const column = Math.max(...checks.map(({ name }) => name.length)) + 2;
  const indent = " ".repeat(column + 5);
  const room = Math.max(40, width - indent.length);
  const signs = { ok: style.green("✓"), missing: style.red("✗"), warning: style.yellow("!"), unknown: style.dim("?") };
  const lines = checks.flatMap(({ name, state, finding, fix }) => {
    const [first = "", ...rest] = wrapText(oneLine(finding), room);
    return [
      `  ${signs[state]}  ${style.bold(name.padEnd(column))}${first}`,
      ...rest.map((line) => `${indent}${line}`),
      ...(fix === undefined ? [] : wrapText(`fix: ${oneLine(fix)}`, room).map((line) => `${indent}${line}`)),
    ];
  });
  return `${[...verdict(diagnosis, style), "", ...lines, "", style.dim(oneLine(`${server}, namespace ${namespace}`))].join("\n")}\n`;
}

/** The attack: names of objects, words of admission plug-ins and what an image prints that forge lines of this report. */
function oneLine(text: string): string {
  return printable(text.replace(/\s+/g, " "), 4_000);
}

function verdict(diagnosis: ClusterDiagnosis, style: Style): string[] {
  const missing = diagnosis.checks.filter(({ state }) => state === "missing").map(({ name }) => name);
  if (missing.length > 0) return [style.red(`codecell cannot run cells in this cluster: see ${missing.join(", ")}`)];
  const isProved = diagnosis.checks.some(({ name, state }) => name === "cells" && state === "ok");
  return [isProved ? "codecell runs cells in this cluster" : "nothing is missing in this cluster; no pod was started"];
}

export function clusterJson(diagnosis: ClusterDiagnosis): object {
  const { server, namespace, checks } = diagnosis;
  const listed = checks.map(({ name, state, finding, fix = null, facts = {} }) => ({
    name,
    state,
    finding,
    fix,
    ...facts,
  }));
  return { server, namespace, usable: canRunCells(diagnosis), checks: listed };
}
