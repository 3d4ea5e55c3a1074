import { spawn } from "node:child_process";
import { openSync, rmSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { kubernetesBuild } from "./build.js";
import { TestCluster } from "./cluster/outside.js";
import { waitUntil } from "./cluster/wait-until.js";
import { enterCluster } from "./enter.js";
import { cellImage } from "./images.js";
import { currentCluster } from "./lock.js";

/** of a cluster in the background; stays only when the cluster fails */
const log = join(tmpdir(), "codecell-test-kubernetes.log");
const entry = fileURLToPath(new URL("index.js", import.meta.url));

/** Brings a cluster up and holds it until a signal; with --detach a process in the background does. */
export async function up(argv) {
  const { values } = parseArgs({
    args: argv,
    options: {
      policies: { type: "string", default: "enforced" },
      detach: { type: "boolean", default: false },
    },
  });
  if (!["enforced", "ignored"].includes(values.policies)) throw new Error("--policies is one of: enforced, ignored");
  if (values.detach) return await upInBackground(values.policies);
  const signal = stopSignal();
  const cluster = await TestCluster.start({ build: await kubernetesBuild(), policies: values.policies, signal });
  console.log(JSON.stringify({ ...currentCluster(), image: cellImage }));
  const stopped = new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", resolve, { once: true });
  });
  await Promise.race([stopped, cluster.ended]);
  await cluster.close();
  rmSync(log, { force: true });
  return 0;
}

/** Aborts at the first signal that asks this process to end. Later ones are ignored: a cluster is taken down in seconds. */
export function stopSignal() {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(name, () => stop.abort(new Error(`ended by ${name}`)));
  }
  return stop.signal;
}

async function upInBackground(policies) {
  const output = openSync(log, "w", 0o600);
  const child = spawn(process.execPath, [entry, "up", "--policies", policies], {
    detached: true,
    stdio: ["ignore", output, output],
  });
  const ended = new Promise((resolve) => child.once("exit", () => resolve("ended")));
  const ready = waitUntil(
    "the cluster is ready",
    async () => currentCluster()?.pid === child.pid && currentCluster()?.kubeconfig !== undefined,
    { timeoutMs: 1_200_000, everyMs: 500 },
  );
  console.error(`starting a cluster in the background, log: ${log} …`);
  if ((await Promise.race([ready, ended])) === "ended") throw new Error(`the cluster did not come up: see ${log}`);
  child.unref();
  console.log(JSON.stringify({ ...currentCluster(), image: cellImage }));
  process.exit(0);
}

export async function exec(argv) {
  const command = argv[0] === "--" ? argv.slice(1) : argv;
  if (command.length === 0) throw new Error("exec needs a command");
  return (await enterCluster(command)).code;
}

/** Writes down what the cluster that is up says over streams, for the fake one of the tests. */
export async function recordStreams() {
  const file = "test/kubernetes/recorded-streams.test.ts";
  const vitest = [process.execPath, "node_modules/vitest/vitest.mjs", "run", "--project", "kubernetes"];
  const command = ["env", `RECORD_STREAMS_IMAGE=${cellImage}`, ...vitest, file];
  return (await enterCluster(command)).code;
}

export async function order([subject = ""]) {
  console.log(JSON.stringify(await sendOrder(currentCluster()?.directory, subject)));
  return 0;
}

/** @param {string | undefined} directory the cluster's @param {string} subject such as "unplug/node2" */
export function sendOrder(directory, subject) {
  if (!directory) throw new Error("no test cluster is up");
  return new Promise((resolve, reject) => {
    const asked = request(
      { socketPath: join(directory, "orders.sock"), path: `/${subject}`, method: "POST" },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (piece) => {
          text += piece;
        });
        response.on("end", () => (response.statusCode === 200 ? resolve(JSON.parse(text)) : reject(new Error(text))));
      },
    );
    asked.on("error", reject).end();
  });
}

export async function status() {
  const state = currentCluster();
  console.log(state ? JSON.stringify({ ...state, image: cellImage }) : "no test cluster is up");
  return state ? 0 : 1;
}

export async function down() {
  const state = currentCluster();
  if (!state) return 0;
  process.kill(state.pid, "SIGTERM");
  await waitUntil("the cluster has ended", async () => currentCluster()?.pid !== state.pid, { timeoutMs: 60_000 });
  return 0;
}
