import { Watch } from "@kubernetes/client-node";
import { cellsNamespace } from "./context.js";
import { plainPodSpec } from "./plain-pod.js";

/**
 * How long the cluster takes for a pod of the same image with nothing of ours in it: from the request until its container runs, in
 * milliseconds. What codecell adds is measured against this.
 */
export async function barePodStart({ config, core, env }) {
  const namespace = cellsNamespace;
  const name = `bare-${Date.now().toString(36)}`;
  const spec = plainPodSpec(env, { name: "bare", command: ["sleep", "600"] });
  let watching;
  const running = new Promise((resolve, reject) => {
    const changed = (_, pod) => pod.status?.phase === "Running" && resolve();
    new Watch(config)
      .watch(`/api/v1/namespaces/${namespace}/pods`, { fieldSelector: `metadata.name=${name}` }, changed, reject)
      .then((controller) => {
        watching = controller;
      }, reject);
  });
  const began = performance.now();
  await core.createNamespacedPod({ namespace, body: { metadata: { name }, spec } });
  try {
    await running;
    return performance.now() - began;
  } finally {
    watching?.abort();
    await core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 });
  }
}
