// Runs the steps in the cluster that KUBECONFIG names. Prints the report as JSON on standard output, progress on standard error.
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { withProgress } from "../progress.js";
import { openContext, root } from "./context.js";
import { steps } from "./steps.js";

const { values } = parseArgs({ options: { only: { type: "string" } } });
const names = values.only?.split(",") ?? steps.map(({ name }) => name);
const context = await openContext();
const results = [];
try {
  for (const step of steps.filter(({ name }) => names.includes(name))) {
    results.push(await runStep(step));
    console.error(`${step.name}: ${results.at(-1).status}. ${results.at(-1).detail}`);
  }
  const { gitVersion } = await version();
  console.log(
    JSON.stringify({ kubernetes: gitVersion, containerd: await runtime(), ...machineFacts(), steps: results }),
  );
} finally {
  await context.close();
}
process.exit(results.every(({ status }) => status !== "failed") ? 0 : 1);

async function runStep({ name, asks, needsOwnCluster = false, missing, run }) {
  const began = performance.now();
  const done = (status, detail, figures = {}) => {
    return { name, asks, status, seconds: Math.round((performance.now() - began) / 100) / 10, detail, figures };
  };
  try {
    const lacks =
      needsOwnCluster && !context.isOwnCluster
        ? "needs the cluster of this test, whose nodes and network it changes"
        : await missing?.(context);
    if (lacks !== undefined) return { name, asks, status: "skipped", seconds: 0, detail: lacks };
    const { detail, figures } = await withProgress(name, () => run(context));
    return done("passed", detail, figures);
  } catch (error) {
    console.error(error); // the stack names paths of this machine, and what is returned may be kept in docs/
    return done("failed", error instanceof Error ? error.message : String(error));
  }
}

/** Of the nodes: as their kubelets report it. */
async function runtime() {
  const { items } = await context.core.listNode();
  return items[0]?.status?.nodeInfo?.containerRuntimeVersion ?? "unknown runtime";
}

function machineFacts() {
  const gib = Math.round(totalmem() / 2 ** 30);
  const machine = `${cpus().length} cores, ${gib} GiB, Linux ${release()}`;
  const { version: codecell } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  return { codecell, node: process.versions.node, machine };
}

async function version() {
  const { VersionApi } = await import("@kubernetes/client-node");
  return await context.config.makeApiClient(VersionApi).getCode();
}
