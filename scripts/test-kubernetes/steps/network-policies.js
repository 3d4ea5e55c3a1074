import { Codecell, CodecellError, parsePolicy } from "../../../dist/index.js";
import { kubernetesRunner } from "../../../dist/runners/kubernetes/runner.js";
import { apiAddress, apiPort } from "../cluster/layout.js";
import { waitUntil } from "../cluster/wait-until.js";
import { cellsNamespace } from "./context.js";
import { expect, failure } from "./expect.js";
import { plainPodSpec } from "./plain-pod.js";
import { withEnvironment } from "./with-environment.js";

const network = { CODECELL_KUBERNETES_NETWORK: "policy" };
/** exits with 0 if it can connect, with 7 if not */
const dial = `import socket,sys
try: socket.create_connection(("${apiAddress}", ${apiPort}), 3)
except OSError: sys.exit(7)`;

/** @type {import("./steps.js").Step} */
export const policiesIgnored = {
  name: "policies-ignored",
  asks: "does codecell refuse a cluster that accepts network policies and ignores them?",
  needsOwnCluster: true,
  async run(context) {
    await context.order("policies/ignored");
    await forgetProof(context);
    try {
      expect((await dialFromPod(context)) === 0, "a pod reaches the API server although a policy denies it everything");
      const error = await withEnvironment({ ...context.env, ...network }, () => failure(openSession(context)));
      expect(error instanceof CodecellError, "codecell refuses", error);
      expect(/NetworkPolic/i.test(`${error.message} ${error.hint}`), "the refusal names network policies", error);
      return { detail: `a pod connects despite a deny-all policy, and codecell refuses: ${error.message}` };
    } finally {
      await context.order("policies/enforced");
    }
  },
};

/** @type {import("./steps.js").Step} */
export const policiesEnforced = {
  name: "policies-enforced",
  asks: "does codecell accept a cluster that enforces them, and is the pod cut off?",
  needsOwnCluster: true,
  async run(context) {
    await context.order("policies/enforced");
    await forgetProof(context);
    expect((await dialFromPod(context)) === 7, "a pod cannot reach the API server");
    return await withEnvironment({ ...context.env, ...network }, async () => {
      const result = await openSession(context);
      expect(result.status === "ok" && result.value === "'closed'", "a cell runs, and cannot connect", result);
      const row = result.receipt.rules.find(({ rule }) => rule === "net.enabled");
      return { detail: `a cell runs and cannot connect; its receipt: ${row?.by}, ${row?.how ?? row?.detail}` };
    });
  },
};

/** An earlier step may have proved the network, when it was another. */
async function forgetProof({ core }) {
  const labelSelector = "codecell/role=proof";
  await core.deleteCollectionNamespacedConfigMap({ namespace: cellsNamespace, labelSelector });
}

/** Runs the same connection attempt in a cell, under codecell. */
async function openSession(context) {
  const stateDir = `${context.directory}/policies`;
  const codecell = await Codecell.open({ policy: parsePolicy({}), runners: [kubernetesRunner()], stateDir });
  try {
    const session = await codecell.session();
    const code = `import socket
try:
    socket.create_connection(("${apiAddress}", ${apiPort}), 3); answer = "open"
except OSError:
    answer = "closed"
answer`;
    return await session.run(code);
  } finally {
    await codecell[Symbol.asyncDispose]();
  }
}

/** What a plain pod in the cells' namespace can do, without codecell: its exit code. */
async function dialFromPod({ core, env }) {
  const name = `dial-${Date.now().toString(36)}`;
  const namespace = cellsNamespace;
  const labels = { "codecell/network": "none" }; // what the policy of the chart selects
  const spec = plainPodSpec(env, { name: "dial", command: ["python3", "-c", dial] });
  await core.createNamespacedPod({ namespace, body: { metadata: { name, labels }, spec } });
  try {
    return await waitUntil("the dialling pod has ended", async () => {
      const { status } = await core.readNamespacedPod({ name, namespace });
      const code = status?.containerStatuses?.[0]?.state?.terminated?.exitCode;
      return code === undefined ? undefined : { code };
    }).then(({ code }) => code);
  } finally {
    await core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 });
  }
}
