// Started by outside.js as `node inside.js PLAN`, in namespaces of its own: brings the cluster up, reports, and takes orders until its
// standard input ends. Whatever it started ends with the pid namespace.
import { mkdir, readdir, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../command.js";
import { withProgress } from "../progress.js";
import { apiAnswers, kubectl, startControlPlane } from "./control-plane.js";
import { makeCredentials } from "./credentials.js";
import { apiAddress, bridge, nodes } from "./layout.js";
import { buildHasGvisor, ClusterNode } from "./node.js";
import { Processes } from "./processes.js";
import { minorVersion } from "./version.js";
import { waitUntil } from "./wait-until.js";

const { directory, build, images, policies } = JSON.parse(process.argv[2]);
const engineSocket = join(directory, "policy-engine.sock");
const plugins = join(directory, "cni");
const processes = new Processes(join(directory, "logs"));
const minor = await minorVersion(build);
const cluster = { directory, build, minor, plugins, engineSocket, processes };
const machines = nodes.map((node) => new ClusterNode(cluster, node));
const kubeconfig = join(directory, "pki", "admin.kubeconfig");

process.stdin.on("end", () => process.exit(0)).resume();
process.on("SIGTERM", () => process.exit(0));

await makeBridge();
await linkPlugins();
await makeCredentials(directory);
await startControlPlane(cluster);
const { FakePolicyEngine } = await import("../policy-engine/engine.js");
await FakePolicyEngine.start({ kubeconfig, socket: engineSocket, pidOf: (node) => processes.pid(node) });
await withProgress("both nodes ready", async () => {
  await Promise.all(machines.map((machine) => machine.start({ images, policies })));
  await Promise.all(machines.map(({ name }) => nodeIsReady(name)));
});
await waitUntil("the default service account", () => kubectl(cluster, "get", "serviceaccount", "default"));
if (buildHasGvisor(build)) await makeRuntimeClass();
await takeOrders();
process.stdout.write("ready\n");

async function makeBridge() {
  await run(["ip", "link", "set", "lo", "up"]);
  await run(["ip", "link", "add", bridge, "type", "bridge"]);
  await run(["ip", "address", "add", `${apiAddress}/24`, "dev", bridge]);
  await run(["ip", "link", "set", bridge, "up"]);
  await run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
}

/** The built plugins and the fake policy engine in one directory. */
async function linkPlugins() {
  await mkdir(plugins);
  for (const name of await readdir(join(build, "cni"))) await symlink(join(build, "cni", name), join(plugins, name));
  const fake = "codecell-fake-policy-engine";
  await symlink(fileURLToPath(new URL(`../policy-engine/${fake}`, import.meta.url)), join(plugins, fake));
}

async function makeRuntimeClass() {
  const file = join(directory, "runtime-class.json");
  const metadata = { name: "gvisor" };
  await writeFile(
    file,
    JSON.stringify({ apiVersion: "node.k8s.io/v1", kind: "RuntimeClass", metadata, handler: "runsc" }),
  );
  await kubectl(cluster, "create", "-f", file);
}

async function nodeIsReady(name) {
  await waitUntil(`${name} has registered`, () => kubectl(cluster, "get", "node", name));
  await kubectl(cluster, "wait", "--for=condition=Ready", `node/${name}`, "--timeout=50s");
}

/** What tests do to the cluster: orders come as HTTP requests over a socket in its directory. */
async function takeOrders() {
  const machine = (name) => machines.find((one) => one.name === name) ?? fail(`no node ${name}`);
  const orders = {
    unplug: (name) => machine(name).unplug(),
    plug: (name) => machine(name).plug(),
    policies: (mode) => Promise.all(machines.map((one) => one.setPolicies(mode))),
    restart: (name) => processes.restart(name),
    stop: (name) => processes.stop(name, "SIGKILL"),
    pid: async (name) => processes.pid(name),
    ready: () => apiAnswers(cluster),
  };
  const server = createServer(async (request, response) => {
    const [, order, subject] = (request.url ?? "").split("/");
    try {
      const answer = await (orders[order] ?? (() => fail(`no order ${order}`)))(subject);
      response.end(JSON.stringify(answer ?? null));
    } catch (error) {
      response.writeHead(400).end(String(error.message));
    }
  });
  await new Promise((resolve) => server.listen(join(directory, "orders.sock"), resolve));
}

function fail(message) {
  throw new Error(message);
}
