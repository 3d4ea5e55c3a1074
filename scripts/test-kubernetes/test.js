import { spawn } from "node:child_process";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { kubernetesBuild } from "./build.js";
import { TestCluster } from "./cluster/outside.js";
import { stopSignal } from "./commands.js";
import { enterCluster } from "./enter.js";
import { recordFigures } from "./figures/record.js";
import { reportText } from "./figures/report.js";
import { currentCluster } from "./lock.js";
import { stepNames } from "./step-names.js";

const steps = fileURLToPath(new URL("steps/run.js", import.meta.url));

/** Runs the steps in a cluster of its own, in the test cluster that is up, or in one that exists. */
export async function test(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      only: { type: "string" },
      keep: { type: "boolean", default: false },
      kubeconfig: { type: "string" },
      json: { type: "boolean", default: false },
      figures: { type: "boolean", default: false },
    },
  });
  const unknown = (values.only?.split(",") ?? []).filter((name) => !stepNames.includes(name));
  if (unknown.length > 0) throw new Error(`no step ${unknown.join(", ")}; there are ${stepNames.join(", ")}`);
  const command = [process.execPath, steps, ...(values.only ? ["--only", values.only] : [])];
  const { code, output } = values.kubeconfig
    ? await runIn(command, { KUBECONFIG: resolve(values.kubeconfig) })
    : await inTestCluster(command, values);
  if (output === "") return code; // it has said why
  const report = { at: new Date().toISOString(), ...JSON.parse(output) };
  console.log(values.json ? JSON.stringify(report, null, 2) : reportText(report));
  if (values.figures) await recordFigures(report);
  return code;
}

async function inTestCluster(command, { keep }) {
  if (currentCluster()?.kubeconfig) return await enterCluster(command, { capturesOutput: true });
  const signal = stopSignal();
  const cluster = await TestCluster.start({ build: await kubernetesBuild(), policies: "enforced", signal });
  try {
    return await enterCluster(command, { capturesOutput: true, signal });
  } finally {
    if (keep && !signal.aborted) await kept(cluster, signal);
    await cluster.close();
  }
}

async function kept(cluster, signal) {
  console.error("the cluster stays up until Ctrl-C: `node scripts/test-kubernetes exec kubectl …`");
  const stopped = new Promise((stop) => signal.addEventListener("abort", stop, { once: true }));
  await Promise.race([stopped, cluster.ended]);
}

function runIn([program, ...argv], env) {
  const child = spawn(program, argv, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve_, reject) => {
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve_({ code: code ?? 1, output }));
  });
}
