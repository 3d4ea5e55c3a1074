import * as kubernetes from "@kubernetes/client-node";
import { attacks } from "./attacks.js";
import { contract } from "./contract.js";

const runtimeClass = "gvisor";

/** @type {import("./steps.js").Step} */
export const gvisor = {
  name: "gvisor",
  asks: "do pods under gVisor keep the contract, and contain the attacks?",
  async missing({ config }) {
    const { items } = await config.makeApiClient(kubernetes.NodeV1Api).listRuntimeClass();
    const isThere = items.some(({ metadata }) => metadata.name === runtimeClass);
    return isThere ? undefined : `this cluster has no RuntimeClass named ${runtimeClass}`;
  },
  async run(context) {
    const env = { ...context.env, CODECELL_KUBERNETES_RUNTIME_CLASS: runtimeClass };
    const kept = await contract.run({ ...context, env });
    const contained = await attacks.run({ ...context, env });
    return { detail: `${kept.detail}; ${contained.detail}` };
  },
};
