import { spawn } from "node:child_process";
import { currentCluster } from "./lock.js";

/**
 * Runs a command in the namespaces of the cluster that is up, with KUBECONFIG set.
 * @param {readonly string[]} command
 * @param {{ capturesOutput?: boolean, signal?: AbortSignal }} [options]
 * @returns {Promise<{ code: number, output: string }>} output: what it printed, if that is captured
 */
export function enterCluster(command, { capturesOutput = false, signal } = {}) {
  const state = currentCluster();
  if (!state?.kubeconfig) throw new Error("no test cluster is ready: `node scripts/test-kubernetes up --detach`");
  const enter = ["--target", String(state.inside), "--net", "--mount", "--pid", `--wdns=${process.cwd()}`, "--"];
  // the command ends with its caller
  const argv = [...enter, "setpriv", "--pdeathsig", "TERM", ...command];
  const env = { ...process.env, KUBECONFIG: state.kubeconfig, CODECELL_TEST_CLUSTER: state.directory };
  const stdio = capturesOutput ? ["ignore", "pipe", "inherit"] : "inherit";
  const child = spawn("nsenter", argv, { stdio, env });
  signal?.addEventListener("abort", () => child.kill("SIGKILL"), { once: true }); // pdeathsig ends the command
  return new Promise((resolve, reject) => {
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      output += text;
    });
    child.once("error", reject);
    child.once("close", (code) => resolve({ code: code ?? 1, output }));
  });
}
