import { waitUntil } from "../cluster/wait-until.js";
import { cellsNamespace } from "./context.js";

/** The cells in the cluster, as pods. */
export async function cellPods({ core }, { selector = "codecell/role=cell" } = {}) {
  const { items } = await core.listNamespacedPod({ namespace: cellsNamespace, labelSelector: selector });
  return items;
}

/** Waits until no cell is left, and says how long that took in milliseconds. */
export async function noCellsLeft(context, { timeoutMs = 120_000 } = {}) {
  const began = performance.now();
  await waitUntil("no cells are left", async () => (await cellPods(context)).length === 0, { timeoutMs });
  return performance.now() - began;
}
